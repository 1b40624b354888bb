// Which way a convolution is computed: by cuDNN's first advice where tensor cores compute (16 bits,
// tf32), otherwise the fastest one of what cuDNN advises and of products of columns, by measuring.
//
// What was measured is remembered (measured_choices.h); where nothing can be, the library's first
// advice is taken, which has the same bits every time.
#pragma once

#include <memory>

#include "antichain/backends/cuda/convolution/cudnn_convolution.h"

namespace antichain::cuda {

/// Returns the way to compute a convolution, which convolutions of the same problem share if it is
/// cuDNN's. Throws DeviceError when there is none that is deterministic.
std::shared_ptr<ConvolutionWay> choose_way(const CudnnLibrary& library, const ConvProblem& problem);

}  // namespace antichain::cuda
