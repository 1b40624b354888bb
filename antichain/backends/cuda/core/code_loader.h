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

#include "antichain/backends/cuda/core/preparation.h"

namespace antichain::cuda {

class CodeLoader {
 public:
  /// Notes in `preparation`, which lives longer, what compiling takes.
  CodeLoader(int architecture, Preparation& preparation);
  ~CodeLoader();
  CodeLoader(const CodeLoader&) = delete;
  CodeLoader& operator=(const CodeLoader&) = delete;

  /// A text that is being compiled, or has been. Lives as long as the loader.
  class Code;

  /// Starts to compile a text in the background, unless that was done before: a model has a hundred
  /// kernels, and as many are compiled at once as there are cores.
  Code& start(const std::string& text);
  /// Returns the function `name` (extern "C") of a text when it is there. The function lives as
  /// long as the loader.
  cudaKernel_t load(Code& code, const std::string& name);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace antichain::cuda
