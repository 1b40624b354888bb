// CodeLoader: kernels as text, compiled for the GPU by NVRTC and remembered, in this process and on
// disk (antichain/base/code_cache.h).
//
// All kernels of this backend that are not a library's are such text: headers of Antichain that CPU
// and GPU share (functors, random numbers, rules of optimisers), pieces of antichain/backends/cuda/
// device, and what is generated for an op. NVRTC needs no GPU: tests compile kernels on any machine
// that has the toolkit.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

namespace antichain::cuda {

/// Compiles kernels to machine code for GPUs of this kind (90 for sm_90). Throws InternalError with
/// the compiler's messages when the text is wrong.
std::string compile_kernel(const std::string& text, int architecture);

class CodeLoader {
 public:
  explicit CodeLoader(int architecture);
  ~CodeLoader();
  CodeLoader(const CodeLoader&) = delete;
  CodeLoader& operator=(const CodeLoader&) = delete;

  /// Returns the function `name` (extern "C") of a text; compiles it unless that was done before.
  /// The function lives as long as the loader.
  cudaKernel_t load(const std::string& text, const std::string& name);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace antichain::cuda
