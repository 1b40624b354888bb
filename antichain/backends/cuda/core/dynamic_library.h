// Libraries of the toolkit that are loaded when they are first needed: they are large, and a
// program that computes on the CPU must start at once, also where they are not installed.
#pragma once

#include <string>

namespace antichain::cuda {

class DynamicLibrary {
 public:
  /// Loads it from where the system looks, or from the toolkit that Antichain was built with.
  /// Throws DeviceError naming the file when there is none.
  explicit DynamicLibrary(const std::string& file);

  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  std::string file_;
  void* handle_;  // never closed: libraries leave threads behind
};

}  // namespace antichain::cuda

/// Declares a member of the name and type of a C function, which `library` has.
// NOLINTBEGIN(bugprone-macro-parentheses): it is a name
#define ANTICHAIN_LIBRARY_FUNCTION(name) \
  decltype(&::name) name = library.function<decltype(&::name)>(#name)
// NOLINTEND(bugprone-macro-parentheses)
