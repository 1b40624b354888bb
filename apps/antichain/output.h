// Where the program writes: text for people, or one line of JSON at the end for programs.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace antichain::app {

using Json = nlohmann::ordered_json;

/// Returns the value on one line; bytes that are not UTF-8 are replaced.
std::string to_line(const Json& json);

class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  bool json() const { return json_; }
  /// Returns where progress goes: standard output belongs to the result when that is JSON.
  std::FILE* progress() const { return json_ ? stderr : stdout; }
  /// Writes the result of a command, in the form that was asked for; throws DataError when standard
  /// output cannot be written to, EndedBySignal (SIGPIPE) when nobody reads it any more.
  void finish(std::string_view text, const Json& json) const;
  /// Writes what tells how a command gets on; what cannot be written is dropped.
  void tell(std::string_view text) const;
  /// Writes a file that the user has named; "-" is standard output.
  void write_to(const std::string& path, std::string_view text) const;
  /// Reports the sentence that a failed command ends with.
  void fail(std::string_view sentence) const;

 private:
  bool json_;
};

}  // namespace antichain::app
