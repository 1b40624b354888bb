// Place: where in a user's program something was written, for messages.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>

namespace antichain {

/// A file and a line. In C++ it comes by itself, as the default of a parameter (Place::current());
/// a front end of another language makes it of its own files (Place::of).
class Place {
 public:
  constexpr Place() = default;
  constexpr Place(const std::source_location& location)  // implicit: stands for the same place
      : file_(location.file_name()), line_(location.line()) {}

  /// Returns the place of the call, or of the call that takes it as a default.
  static constexpr Place current(
      const std::source_location& location = std::source_location::current()) {
    return location;
  }
  /// Returns a place in a file of that name, which is kept until the program ends.
  static Place of(std::string_view file, std::uint32_t line);

  constexpr const char* file_name() const { return file_; }
  constexpr std::uint32_t line() const { return line_; }

 private:
  const char* file_ = "";
  std::uint32_t line_ = 0;
};

}  // namespace antichain
