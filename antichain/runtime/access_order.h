// AccessOrder: which earlier steps a step must wait for, by the memory that they touch.
//
// A read waits for the last write of any of its bytes, a write for the last write and for everybody
// who has read since. So values that share memory by the plan, views, states and what is computed
// in place all come out right without being known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace antichain {

/// Bytes from `first` up to, not including, `last`.
struct MemoryRange {
  std::uintptr_t first = 0, last = 0;
};

/// Returns a range that touches every other.
MemoryRange all_memory();

class AccessOrder {
 public:
  /// Begins the next step; steps are numbered from 0.
  void begin_step();
  void read(MemoryRange range);
  void write(MemoryRange range);
  void wait_for(std::size_t step);

  /// Returns the steps that the present one must wait for, without those that one of them waits
  /// for itself.
  std::vector<std::size_t> needs() const;

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  struct Piece {
    std::uintptr_t last;
    std::size_t writer = kNobody;
    std::vector<std::size_t> readers;  // since then
  };
  using Pieces = std::map<std::uintptr_t, Piece>;  // by first byte; they do not overlap

  void split_at(std::uintptr_t address);
  std::size_t current() const { return needs_.size() - 1; }

  Pieces pieces_;
  std::vector<std::vector<std::size_t>> needs_;  // of each step, sorted
};

}  // namespace antichain
