#include "antichain/runtime/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "antichain/base/byte_size.h"

namespace antichain {

std::vector<MemoryValue> by_size(const MemoryReport& report) {
  std::vector<MemoryValue> values = report.values;
  std::ranges::stable_sort(values, std::greater<>(), &MemoryValue::bytes);
  return values;
}

OutOfMemory explained(const OutOfMemory& error, const MemoryReport& report) {
  constexpr std::size_t kNamed = 3;  // values; more would hide the sentence
  const auto size_text = [](std::size_t bytes) {
    return bytes_text(static_cast<std::int64_t>(bytes));
  };
  std::string largest;
  const std::vector<MemoryValue> values = by_size(report);
  for (std::size_t i = 0; i < std::min(kNamed, values.size()); ++i) {
    largest +=
        fmt::format("{}{} of {}", i == 0 ? "" : ", ", size_text(values[i].bytes), values[i].where);
  }
  return OutOfMemory(
      fmt::format("{}; values in between take {} at once{}{}; a memory budget (--memory-budget, "
                  "CompileOptions::memory_budget) keeps fewer of them, and a smaller batch makes "
                  "them smaller",
                  error.what(), size_text(report.peak_bytes),
                  largest.empty() ? "" : ", the largest are ", largest),
      error.where());
}

}  // namespace antichain
