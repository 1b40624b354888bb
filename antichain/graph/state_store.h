// Values that outlive a run: parameters, optimiser moments, running statistics.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Holds tensors by name. Graphs of one session that use the same name share the value.
class StateStore {
 public:
  bool contains(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// Returns the value; throws InvalidArgument when there is none of that name.
  const Tensor& get(std::string_view name) const;
  /// Sets or replaces a value. Earlier readers keep the tensor they have.
  void set(std::string_view name, Tensor value);
  const std::map<std::string, Tensor, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, Tensor, std::less<>> values_;
};

}  // namespace antichain
