#include "antichain/backends/cuda/core/remembered_code.h"

namespace antichain::cuda {

std::string RememberedCode::find(const std::string& key, Compile compile) const {
  if (std::optional<std::string> code = cache_.load(key)) {
    return *std::move(code);
  }
  std::string code = compile();
  cache_.store(key, code);
  return code;
}

bool RememberedCode::load(const std::string& key, const std::string& code, Load load,
                          Compile compile) const {
  if (load(code)) {
    return true;
  }
  cache_.remove(key);
  const std::string again = compile();
  if (!load(again)) {
    return false;
  }
  cache_.store(key, again);
  return true;
}

}  // namespace antichain::cuda
