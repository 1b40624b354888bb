// The error types of Antichain and the two checks that throw them.
//
// require() guards against a user's mistake, ensure() against ours. Both take a fmt format string;
// the place of the check travels with the error, so reports can name file and line.
#pragma once

#include <fmt/core.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace antichain {

/// Holds the base of every error that Antichain throws on purpose.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message,
                 std::source_location where = std::source_location::current())
      : std::runtime_error(message), where_(where) {}

  /// Returns the place in Antichain's sources where the error was raised.
  const std::source_location& where() const { return where_; }

 private:
  std::source_location where_;
};

/// Reports an argument that is not accepted: unknown name, wrong value, wrong order of calls.
class InvalidArgument : public Error {
  using Error::Error;
};
/// Reports shapes that do not fit.
class ShapeError : public InvalidArgument {
  using InvalidArgument::InvalidArgument;
};
/// Reports element types that do not fit.
class TypeError : public InvalidArgument {
  using InvalidArgument::InvalidArgument;
};
/// Reports a correct request that this build, device or engine cannot serve.
class NotSupported : public Error {
  using Error::Error;
};
/// Reports a device that is absent, lost or out of memory.
class DeviceError : public Error {
  using Error::Error;
};
/// Reports a failed exchange with other processes.
class CommError : public Error {
  using Error::Error;
};
/// Reports a file or stream that is missing, broken or wrong, and values that went bad.
class DataError : public Error {
  using Error::Error;
};
/// Reports a broken invariant of Antichain itself: always our mistake.
class InternalError : public Error {
  using Error::Error;
};

/// Carries a format string together with the place that wrote it.
template <class... Args>
struct LocatedFormat {
  template <class Text>
  consteval LocatedFormat(const Text& text,  // implicit: stands for the string literal at the call
                          std::source_location place = std::source_location::current())
      : format(text), where(place) {}

  fmt::format_string<Args...> format;
  std::source_location where;
};

/// Throws `E` with the formatted message.
template <class E, class... Args>
[[noreturn]] void fail(LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

/// Throws `E` (InvalidArgument unless named) when `condition` does not hold: the user's mistake.
template <class E = InvalidArgument, class... Args>
void require(bool condition, LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail<E, Args...>(message, std::forward<Args>(args)...);
  }
}

/// Throws InternalError when `condition` does not hold: our mistake.
template <class... Args>
void ensure(bool condition, LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail<InternalError, Args...>(message, std::forward<Args>(args)...);
  }
}

}  // namespace antichain
