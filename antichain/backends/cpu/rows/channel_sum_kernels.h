// Kernels of the sums that norms need per channel: antichain/ops/convolution/channel_sums.h.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

void register_channel_sums(KernelTable& kernels);

}  // namespace antichain::cpu
