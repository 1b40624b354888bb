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

Tensor& StateStore::find(std::string_view name) {
  const auto found = values_.find(name);
  require(found != values_.end(), "there is no state called '{}'", name);
  return found->second;
}

Tensor& StateStore::spare_for(std::string_view name, const Tensor& value) {
  Tensor& spare = [&]() -> Tensor& {
    const std::lock_guard<std::mutex> lock(spares_mutex_);
    const auto kept = spares_.find(name);
    return kept != spares_.end() ? kept->second : spares_[std::string(name)];
  }();
  const bool usable = spare.defined() && sole_owner(spare.buffer()) &&
                      spare.dtype() == value.dtype() && spare.shape() == value.shape();
  if (!usable) {
    spare = Tensor::empty(value.dtype(), value.shape());
  }
  return spare;
}

}  // namespace antichain
