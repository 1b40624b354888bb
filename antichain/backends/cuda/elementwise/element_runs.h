// Runs: elements side by side that a thread reads or writes by one instruction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "antichain/tensor/tensor.h"

namespace antichain::cuda {

/// Bytes of the widest instruction, and elements of the longest run.
inline constexpr std::int64_t kRunBytes = 16, kLongestRun = 8;

/// Returns whether the widest run can begin at an address.
inline bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(kRunBytes) == 0;
}

/// Returns whether a run of elements can begin where a tensor does. One that is wider than an
/// instruction is read by several.
inline bool is_aligned(const Tensor& tensor, std::int64_t length) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.raw());
  const std::int64_t bytes = length * static_cast<std::int64_t>(size_of(tensor.dtype()));
  return address % static_cast<std::uintptr_t>(std::min(bytes, kRunBytes)) == 0;
}

}  // namespace antichain::cuda
