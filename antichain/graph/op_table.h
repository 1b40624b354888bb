// OpTable: the ops of a graph by a hash, to find one that is equal to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "antichain/graph/ids.h"

namespace antichain {

/// A hash table with open addressing (linear probing): eight bytes each, no allocation per op.
class OpTable {
 public:
  /// Returns the op of this hash that is equal, by `is_equal`, to what is looked for, or none.
  template <class IsEqual>
  OpId find(std::size_t hash, IsEqual is_equal) const {
    if (buckets_.empty()) {
      return {};
    }
    const std::uint32_t mark = mark_of(hash);
    for (std::size_t at = start_of(mark); buckets_[at].op.valid(); at = next(at)) {
      if (buckets_[at].mark == mark && is_equal(buckets_[at].op)) {
        return buckets_[at].op;
      }
    }
    return {};
  }
  /// Adds an op that is not there yet.
  void insert(std::size_t hash, OpId op) {
    if (2 * (size_ + 1) > buckets_.size()) {
      grow();
    }
    put({mark_of(hash), op});
    ++size_;
  }

 private:
  struct Bucket {
    std::uint32_t mark = 0;
    OpId op = {};  // none: the bucket is free
  };

  // What is left of a hash: buckets are mostly told apart by it, without a look at the ops.
  static std::uint32_t mark_of(std::size_t hash) {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    return static_cast<std::uint32_t>((hash * kGoldenRatio) >> 32);
  }
  std::size_t start_of(std::uint32_t mark) const { return mark & (buckets_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (buckets_.size() - 1); }
  void put(Bucket bucket) {
    std::size_t at = start_of(bucket.mark);
    while (buckets_[at].op.valid()) {
      at = next(at);
    }
    buckets_[at] = bucket;
  }
  void grow() {
    constexpr std::size_t kFewest = 64;
    const std::size_t size = buckets_.empty() ? kFewest : 2 * buckets_.size();
    const std::vector<Bucket> before = std::exchange(buckets_, std::vector<Bucket>(size));
    for (const Bucket& bucket : before) {
      if (bucket.op.valid()) {
        put(bucket);
      }
    }
  }

  std::vector<Bucket> buckets_;  // a power of two of them, at most half of them taken
  std::size_t size_ = 0;
};

}  // namespace antichain
