// Models for small pictures.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain::bench {

/// Returns the logits of x[samples, 3, height, width]: ResNet-18 (He et al., 2016, table 1) with
/// the stem that is usual for pictures of 32 by 32, one convolution of 3 by 3 without pooling.
Var resnet18(Var x, std::int64_t classes);
/// Likewise MobileNet (Howard et al., 2017, table 1): convolutions of each channel by itself, and of
/// channels alone. For pictures of 32 by 32 the first three that would halve the sides do not.
Var mobilenet(Var x, std::int64_t classes);

}  // namespace antichain::bench
