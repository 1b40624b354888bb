#include "antichain/nn/dropout.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/random.h"

namespace antichain::nn {

Var dropout(Var x, const DropoutOptions& options, Place place) {
  const UserCall call(x, place);
  require(x.valid(), "dropout: there is no x");
  require<TypeError>(is_float(x.dtype()), "dropout: x must be floating-point, it is {}",
                     name(x.dtype()));
  require_fraction("dropout", "rate", options.rate);
  if (!options.training || options.rate == 0) {
    return x;
  }
  const double keep = 1 - options.rate;
  return select(random_bernoulli(x.graph(), keep, x.shape()), x * (1 / keep), 0);
}

Var adaptive_dropout(Var x, const AdaptiveDropoutOptions& options, Place place) {
  const UserCall call(x, place);
  const Dim features = require_features("adaptive_dropout", x);
  require(options.share > 0 && options.share <= 1,
          "adaptive_dropout: the share must be within (0, 1], got {}", options.share);
  const Var wide = widened(stop_gradient(x));
  const Var total = sum(wide, {-1}, true);
  const Var count = as_type(dim_value(x.graph(), features), wide.dtype());
  const Var scale = select(greater(total, 0), options.share * count / total, 0);
  const Var kept = minimum(wide * scale, 1);
  if (!options.training) {
    return x * as_type(kept, x.dtype());
  }
  return select(less(random_uniform(x.graph(), wide.dtype(), x.shape()), kept), x, 0);
}

}  // namespace antichain::nn
