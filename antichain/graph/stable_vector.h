// StableVector: a list that only grows and whose elements stay where they are.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace antichain {

/// Keeps elements in chunks that are never moved, so references to them hold while others are
/// added. A graph has many, of few bytes each: std::deque would allocate for every handful.
template <class T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;

  std::size_t size() const { return chunks_.empty() ? 0 : full_ + chunks_.back().size(); }
  T& operator[](std::size_t index) { return chunks_[index / kChunk][index % kChunk]; }
  const T& operator[](std::size_t index) const { return chunks_[index / kChunk][index % kChunk]; }
  T& back() { return chunks_.back().back(); }
  void push_back(T value) {
    if (chunks_.empty() || chunks_.back().size() == kChunk) {
      full_ = chunks_.size() * kChunk;
      chunks_.emplace_back().reserve(kChunk);
    }
    chunks_.back().push_back(std::move(value));
  }

 private:
  static constexpr std::size_t kChunk = 128;  // elements; a power of two

  std::vector<std::vector<T>> chunks_;
  std::size_t full_ = 0;  // elements of all chunks but the last
};

}  // namespace antichain
