// Which way a convolution is computed: by cuDNN's first advice where tensor cores compute (16 bits,
// tf32), otherwise the fastest one of what cuDNN advises and of products of columns, by measuring.
//
// A way is measured when the first process meets a convolution of some sizes on a GPU, and
// remembered on disk beside compiled code (antichain/base/code_cache.h), by the problem, the name
// of the GPU and the version of cuDNN: another way adds up in another order, and so later runs have
// the bits of the first. Where nothing can be remembered ($ANTICHAIN_CACHE is empty, a disk is
// full), nothing is measured and the library's first advice is taken, which has the same bits every
// time.
#pragma once

#include <memory>

#include "antichain/backends/cuda/cudnn_convolution.h"

namespace antichain::cuda {

/// Returns the way to compute a convolution. Throws DeviceError when there is none that is
/// deterministic.
std::unique_ptr<ConvolutionWay> choose_way(const CudnnLibrary& library, const ConvProblem& problem);

}  // namespace antichain::cuda
