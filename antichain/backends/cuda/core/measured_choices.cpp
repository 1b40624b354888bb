#include "antichain/backends/cuda/core/measured_choices.h"

#include <fmt/format.h>

#include <span>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/base/sha256.h"

namespace antichain::cuda {

MeasuredChoices::MeasuredChoices(int gpu) : cache_(default_code_folder()) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "asking for its name");
  gpu_ = fmt::format("{} with {} multiprocessors", properties.name, properties.multiProcessorCount);
}

std::string MeasuredChoices::key_of(const std::string& problem) const {
  const std::string text = fmt::format("{}\non {}\n", problem, gpu_);
  Sha256 digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.finish();
}

std::optional<std::string> MeasuredChoices::find(const std::string& problem) const {
  return cache_.load(key_of(problem));
}

bool MeasuredChoices::keep(const std::string& problem, const std::string& choice) const {
  cache_.store(key_of(problem), choice);
  return find(problem) == choice;
}

bool MeasuredChoices::may_measure(const Context& context) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(context->stream(), &status), "planning what is measured");
  return status == cudaStreamCaptureStatusNone && !default_cache_folder().empty();
}

}  // namespace antichain::cuda
