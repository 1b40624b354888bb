// MeasuredChoices: what was found to be the fastest on a GPU (autotuning), remembered on disk.
//
// A choice is measured when the first process meets a problem on a GPU, and remembered beside
// compiled code (antichain/base/code_cache.h), by the problem and the name of the GPU: another
// choice adds up in another order, and so later runs have the bits of the first. Where nothing can
// be remembered ($ANTICHAIN_CACHE is empty, a disk is full), nothing is measured.
#pragma once

#include <optional>
#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/base/code_cache.h"

namespace antichain::cuda {

class MeasuredChoices {
 public:
  /// Of the GPU with this number.
  explicit MeasuredChoices(int gpu);

  /// Returns what was kept for a problem, whose description says all that it depends on.
  std::optional<std::string> find(const std::string& problem) const;
  /// Returns whether `choice` will be found from now on.
  bool keep(const std::string& problem, const std::string& choice) const;
  /// Returns whether something may be measured now: nothing may be waited for while kernels are
  /// being recorded.
  static bool may_measure(const Context& context);

 private:
  std::string key_of(const std::string& problem) const;

  CodeCache cache_;
  std::string gpu_;
};

}  // namespace antichain::cuda
