#include "antichain/graph/state_store.h"

#include <utility>

namespace antichain {

const Tensor& StateStore::get(std::string_view name) const {
  const auto found = values_.find(name);
  require(found != values_.end(), "there is no state called '{}'", name);
  return found->second;
}

void StateStore::set(std::string_view name, Tensor value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}

}  // namespace antichain
