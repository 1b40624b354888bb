// JSON from files, which may hold anything: what every reader of JSON in Antichain uses. Included
// by sources only: who uses the library need not have nlohmann_json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace antichain {

struct JsonLimits {
  std::uintmax_t bytes = std::uintmax_t{1} << 20;
  int depth = 16;  // of arrays and objects within each other
};

/// Parses a text. Throws DataError, in one sentence that names the file and the kind of contents
/// ("is not the state of a training run"), on what is no JSON, on names that an object has twice,
/// and as soon as something lies deeper than the limit.
nlohmann::json parse_json(std::string_view text, const std::string& file, const char* is_not,
                          const JsonLimits& limits = {});
/// Reads and parses a file.
nlohmann::json read_json(const std::filesystem::path& path, const char* is_not,
                         const JsonLimits& limits = {});

/// Reads parts of JSON objects, with one sentence about what is wrong.
class JsonReader {
 public:
  JsonReader(std::string file, const char* is_not) : file_(std::move(file)), is_not_(is_not) {}

  [[noreturn]] void refuse(const std::string& why) const;
  /// Returns a part of an object.
  const nlohmann::json& part(const nlohmann::json& object, const char* name) const;
  /// Returns an object that is a part of another.
  const nlohmann::json& object(const nlohmann::json& object, const char* name) const;
  std::string text(const nlohmann::json& object, const char* name) const;
  bool truth(const nlohmann::json& object, const char* name) const;
  /// Returns a whole number within [least, most].
  std::int64_t integer(const nlohmann::json& object, const char* name, std::int64_t least,
                       std::int64_t most) const;
  /// Returns a value, `what` it is, as a whole number within [least, most].
  std::int64_t as_integer(const nlohmann::json& value, const std::string& what, std::int64_t least,
                          std::int64_t most) const;
  /// Returns a number; one that is not finite is a text or null, see number_json().
  double number(const nlohmann::json& object, const char* name) const;
  double as_number(const nlohmann::json& value, const std::string& what) const;

 private:
  std::string file_;
  const char* is_not_;
};

/// Writes a number, also one that JSON does not know: "nan", "inf" or "-inf".
nlohmann::ordered_json number_json(double value);

}  // namespace antichain
