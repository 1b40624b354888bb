// LiveGraphs: which graphs are still there, so that a value can tell that its graph is gone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace antichain {

/// Numbers graphs and remembers the numbers of those that live. A question is one load from a table
/// of fixed size, whatever address the graph has had: a later graph may have the same.
class LiveGraphs {
 public:
  using Number = std::uint32_t;  // of a graph; 0: of none

  /// Returns the number of a new graph; throws InvalidArgument when a million graphs live.
  static Number add();
  static void remove(Number number) noexcept { at(number).store(0, std::memory_order_relaxed); }
  static bool contains(Number number) {
    return at(number).load(std::memory_order_relaxed) == number;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 20;  // 4 MiB, of which what is used counts

  static std::atomic<Number>& at(Number number) { return numbers_[number % kMost]; }

  static inline std::array<std::atomic<Number>, kMost> numbers_{};
};

}  // namespace antichain
