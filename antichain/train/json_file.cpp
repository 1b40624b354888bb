#include "antichain/train/json_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/input_file.h"

namespace antichain {

using Json = nlohmann::json;

Json parse_json(std::string_view text, const std::string& file, const char* is_not,
                const JsonLimits& limits) {
  std::vector<std::set<std::string>> names;  // of the objects and arrays that are open
  const auto on_event = [&](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        require<DataError>(depth < limits.depth, "'{}' {}: it is nested more than {} deep", file,
                           is_not, limits.depth);
        names.emplace_back();
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end: names.pop_back(); break;
      case Json::parse_event_t::key:
        require<DataError>(names.back().insert(parsed.get<std::string>()).second,
                           "'{}' {}: '{}' is in it twice", file, is_not, parsed.get<std::string>());
        break;
      case Json::parse_event_t::value: break;
    }
    return true;
  };
  try {
    return Json::parse(text, on_event);
  } catch (const Json::exception& error) {
    fail<DataError>("'{}' {}: {}", file, is_not, error.what());
  }
}

Json read_json(const std::filesystem::path& path, const char* is_not, const JsonLimits& limits) {
  return parse_json(read_file(path, limits.bytes), path.string(), is_not, limits);
}

void JsonReader::refuse(const std::string& why) const {
  fail<DataError>("'{}' {}: {}", file_, is_not_, why);
}

const Json& JsonReader::part(const Json& object, const char* name) const {
  if (!object.is_object()) {
    refuse("it is no object");
  }
  const auto found = object.find(name);
  if (found == object.end()) {
    refuse(fmt::format("it lacks '{}'", name));
  }
  return *found;
}

const Json& JsonReader::object(const Json& object, const char* name) const {
  const Json& found = part(object, name);
  if (!found.is_object()) {
    refuse(fmt::format("'{}' is no object", name));
  }
  return found;
}

std::string JsonReader::text(const Json& object, const char* name) const {
  const Json& found = part(object, name);
  if (!found.is_string()) {
    refuse(fmt::format("'{}' is no text", name));
  }
  return found.get<std::string>();
}

bool JsonReader::truth(const Json& object, const char* name) const {
  const Json& found = part(object, name);
  if (!found.is_boolean()) {
    refuse(fmt::format("'{}' is neither true nor false", name));
  }
  return found.get<bool>();
}

std::int64_t JsonReader::integer(const Json& object, const char* name, std::int64_t least,
                                 std::int64_t most) const {
  return as_integer(part(object, name), name, least, most);
}

std::int64_t JsonReader::as_integer(const Json& value, const std::string& what, std::int64_t least,
                                    std::int64_t most) const {
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX}
                        : value.is_number_integer();
  const std::int64_t number = fits ? value.get<std::int64_t>() : 0;
  if (!fits || number < least || number > most) {
    refuse(fmt::format("'{}' must be a whole number within [{}, {}]", what, least, most));
  }
  return number;
}

double JsonReader::number(const Json& object, const char* name) const {
  return as_number(part(object, name), name);
}

double JsonReader::as_number(const Json& value, const std::string& what) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value == "inf" || value == "-inf") {
    return value == "inf" ? kInfinity : -kInfinity;
  }
  if (value != "nan" && !value.is_null()) {  // null: how files of the past write it
    refuse(fmt::format("'{}' is no number", what));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

nlohmann::ordered_json number_json(double value) {
  if (std::isfinite(value)) {
    return value;
  }
  return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
}

}  // namespace antichain
