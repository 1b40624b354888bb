#include "antichain/graph/engine_choice.h"

#include <algorithm>
#include <utility>

#include "antichain/base/error.h"

namespace antichain {

namespace {

bool is_engine_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Options may be called what a formula calls them: K, L.
bool is_option_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || is_engine_name({&c, 1});
  });
}

EngineOption read_option(std::string_view item, std::string_view text) {
  const std::size_t equals = item.find('=');
  require(equals != std::string_view::npos && is_option_name(item.substr(0, equals)) &&
              equals + 1 < item.size(),
          "'{}' in '{}' is no option of an engine: write NAME=VALUE, with commas in between", item,
          text);
  return {std::string(item.substr(0, equals)), item.substr(equals + 1)};
}

}  // namespace

EngineChoice::EngineChoice(std::string_view text) {
  if (text.empty()) {
    return;
  }
  const std::size_t colon = text.find(':');
  name_ = text.substr(0, colon);
  require(is_engine_name(name_), "'{}' names no engine: write ENGINE or ENGINE:OPTION=VALUE,...",
          text);
  std::size_t next = colon;
  while (next != std::string_view::npos) {
    const std::size_t begin = next + 1;
    next = text.find(',', begin);
    options_.push_back(read_option(text.substr(begin, next - begin), text));
  }
}

EngineChoice::EngineChoice(std::string name, std::vector<EngineOption> options)
    : name_(std::move(name)), options_(std::move(options)) {
  *this = EngineChoice(std::string_view(str()));  // refuses what could not be read again
}

std::string EngineChoice::str() const {
  std::string text = name();
  for (const EngineOption& option : options_) {
    text +=
        fmt::format("{}{}={}", &option == options_.data() ? ":" : ",", option.name, option.value);
  }
  return text;
}

}  // namespace antichain
