// Names of states in attributes: "state", "state_1", ... hold one name, or those of several states
// that an op treats alike.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace antichain {

inline constexpr char kStateSeparator = '|';  // no name has it

inline std::string join_state_names(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) {
    joined += (joined.empty() ? "" : std::string(1, kStateSeparator)) + name;
  }
  return joined;
}

inline std::vector<std::string> split_state_names(std::string_view joined) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= joined.size();) {
    const std::size_t end = std::min(joined.find(kStateSeparator, begin), joined.size());
    names.emplace_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace antichain
