#include "antichain/graph/state_store.h"

namespace antichain {

const Tensor& StateStore::get(std::string_view name) const {
  const auto found = values_.find(name);
  require(found != values_.end(), "there is no state called '{}'", name);
  return found->second;
}

void StateStore::set(std::string_view name, const Tensor& value) {
  values_.insert_or_assign(std::string(name), value.contiguous());
}

Tensor StateStore::memory_for_update(std::string_view name) {
  const Tensor& value = get(name);
  if (sole_owner(value.buffer())) {
    return value;
  }
  const auto kept = replaced_.find(name);
  if (kept != replaced_.end() && sole_owner(kept->second.buffer()) &&
      kept->second.dtype() == value.dtype() && kept->second.shape() == value.shape()) {
    return kept->second;
  }
  return Tensor::empty(value.dtype(), value.shape());
}

const Tensor& StateStore::replace(std::string_view name, const Tensor& next) {
  Tensor& value = values_.find(name)->second;
  if (value.buffer() != next.buffer()) {
    const auto kept = replaced_.find(name);
    if (kept == replaced_.end()) {
      replaced_.emplace(name, value);
    } else {
      kept->second = value;
    }
    value = next;
  }
  return value;
}

}  // namespace antichain
