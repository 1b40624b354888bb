// IdMap and IdSet: what is known about ops or vars of one region, by their ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace antichain {

/// Maps ids to values by an array from the lowest id to the highest. Those of a region lie close
/// together, so this takes no more memory than a hash table, and no search.
template <class Key, class Value>
class IdMap {
 public:
  explicit IdMap(Value none = {}) : none_(std::move(none)) {}

  /// Returns the value of an id, or `none`.
  const Value& operator()(Key key) const {
    const std::size_t at = std::size_t{key.value} - first_;  // below the first: huge
    return at < values_.size() ? values_[at] : none_;
  }
  /// Returns the value of an id to be set; it is `none` at first.
  Value& operator[](Key key) {
    if (values_.empty()) {
      first_ = key.value;
    } else if (key.value < first_) {
      // Twice as many, so that going through ids downwards takes linear time.
      const std::size_t more = std::min(first_, std::max(first_ - key.value, values_.size()));
      values_.insert(values_.begin(), more, none_);
      first_ -= more;
    }
    if (key.value - first_ >= values_.size()) {
      values_.resize(key.value - first_ + 1, none_);
    }
    return values_[key.value - first_];
  }

 private:
  Value none_;
  std::size_t first_ = 0;  // the lowest id
  std::vector<Value> values_;
};

template <class Key>
class IdSet {
 public:
  bool contains(Key key) const { return members_(key) != 0; }
  /// Returns whether the id is new.
  bool insert(Key key) { return std::exchange(members_[key], std::uint8_t{1}) == 0; }

 private:
  IdMap<Key, std::uint8_t> members_;
};

}  // namespace antichain
