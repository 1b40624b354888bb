// NVRTC, which makes machine code for GPUs of texts. It needs no GPU.
#pragma once

#include <string>

namespace antichain::cuda {

/// Compiles kernels to machine code for GPUs of this kind (90 for sm_90). Throws InternalError with
/// the compiler's messages when the text is wrong. Any number of threads may compile.
std::string compile_kernel(const std::string& text, int architecture);

/// Returns the compiler's version and options, on which the code depends beside the text.
std::string describe_compiler(int architecture);

}  // namespace antichain::cuda
