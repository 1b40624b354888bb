#include "antichain/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace antichain {

namespace {

constexpr std::uint8_t kFirstOfMany = 0x80, kDelete = 0x7F, kFirstPrintable = 0x20;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// How many bytes the character at this place has; 0 where it is no character that may be shown.
std::size_t character_length(std::string_view text, std::size_t at, Lines lines) {
  const std::uint8_t first = byte_at(text, at);
  if (first < kFirstOfMany) {
    return (first == '\n' && lines == Lines::any) || first == '\t' ||
                   (first >= kFirstPrintable && first != kDelete)
               ? 1
               : 0;
  }
  // RFC 3629, section 4, for the second byte; later ones are all alike.
  struct Row {
    std::uint8_t from, to, least, most;
    std::size_t length;
  };
  constexpr Row kRows[] = {{0xC2, 0xC2, 0xA0, 0xBF, 2}, {0xC3, 0xDF, 0x80, 0xBF, 2},
                           {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
                           {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
                           {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4},
                           {0xF4, 0xF4, 0x80, 0x8F, 4}};  // C2 80 to C2 9F are controls
  const auto* const row = std::ranges::find_if(
      kRows, [first](const Row& known) { return first >= known.from && first <= known.to; });
  if (row == std::end(kRows) || text.size() - at < row->length ||
      byte_at(text, at + 1) < row->least || byte_at(text, at + 1) > row->most) {
    return 0;
  }
  for (std::size_t i = 2; i < row->length; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return row->length;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t length = character_length(text, at, lines)) {
      shown += text.substr(at, length);
      at += length;
    } else {
      shown += fmt::format("\\x{:02x}", byte_at(text, at++));
    }
  }
  return shown;
}

}  // namespace antichain
