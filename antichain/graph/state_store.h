// Values that outlive a run: parameters, optimiser moments, running statistics.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Holds tensors by name. Graphs of one session that use the same name share the value.
class StateStore {
 public:
  bool contains(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// Returns the value; throws InvalidArgument when there is none of that name.
  const Tensor& get(std::string_view name) const;
  /// Sets or replaces a value. Earlier readers keep the tensor they have.
  void set(std::string_view name, const Tensor& value);
  /// Replaces a value by a new one of the same kind, which `compute(old, next)` writes element by
  /// element: in place when nobody else holds the value, otherwise into memory that is kept for
  /// this. Returns the new value. Different values may be updated at the same time.
  template <class F>
  const Tensor& update(std::string_view name, F&& compute) {
    Tensor& value = find(name);
    if (sole_owner(value.buffer())) {
      compute(std::as_const(value), value);
    } else {
      Tensor& next = spare_for(name, value);
      compute(std::as_const(value), next);
      std::swap(value, next);
    }
    return value;
  }
  const std::map<std::string, Tensor, std::less<>>& all() const { return values_; }

 private:
  Tensor& find(std::string_view name);
  Tensor& spare_for(std::string_view name, const Tensor& value);

  std::map<std::string, Tensor, std::less<>> values_;
  std::map<std::string, Tensor, std::less<>> spares_;  // what earlier updates have replaced
  std::mutex spares_mutex_;                            // a map grows
};

}  // namespace antichain
