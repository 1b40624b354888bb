// Code for a GPU that is looked for on disk before it is compiled (antichain/base/code_cache.h).
#pragma once

#include <string>

#include "antichain/base/code_cache.h"
#include "antichain/base/function_ref.h"

namespace antichain::cuda {

class RememberedCode {
 public:
  using Compile = FunctionRef<std::string()>;
  using Load = FunctionRef<bool(const std::string& code)>;

  explicit RememberedCode(const std::filesystem::path& folder) : cache_(folder) {}

  /// Returns what was kept under a key, or compiles and keeps it.
  std::string find(const std::string& key, Compile compile) const;
  /// Loads what find() has returned; what a driver refuses is compiled anew, kept, and loaded.
  /// Returns whether it is loaded.
  bool load(const std::string& key, const std::string& code, Load load, Compile compile) const;

 private:
  CodeCache cache_;
};

}  // namespace antichain::cuda
