// Case: one line of values.json, what PyTorch computes for one application of an op or a model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "antichain/graph/attrs.h"
#include "antichain/tensor/tensor.h"

namespace antichain::peer {

struct Case {
  std::string op, label;
  nlohmann::json attributes;
  std::vector<Tensor> inputs, outputs;
  std::vector<Tensor> grads;  // of sum(outputs · weights), one per float input; empty: not recorded
  std::vector<Tensor> second;  // of sum(grads · weights), likewise

  /// Returns an attribute, or the fallback when the case does not set it.
  template <class T>
  T get(const char* name, T fallback) const {
    return attributes.value(name, std::move(fallback));
  }
  /// Returns an attribute that must be set.
  template <class T>
  T get(const char* name) const {
    return attributes.at(name).get<T>();
  }
  bool flag(const char* name) const { return get(name, false); }
  Ints ints(const char* name) const { return get(name, Ints{}); }
  Dims dims(const char* name) const { return to_dims(ints(name)); }
};

/// Reads all cases, once.
const std::vector<Case>& all_cases();

/// Returns the weights of output `number` in the gradients; book.py has the same formula.
Tensor weights(const Shape& shape, std::int64_t number);

/// Returns "" when both agree, otherwise a sentence on the worst element. Terms of a derivative may
/// cancel each other, which leaves rounding errors where another order of them leaves 0.
std::string difference(const Tensor& ours, const Tensor& theirs, bool may_cancel);

}  // namespace antichain::peer
