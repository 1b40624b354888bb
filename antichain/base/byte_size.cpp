#include "antichain/base/byte_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "antichain/base/error.h"

namespace antichain {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr double kThousand = 1000, kKibi = 1024;
constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KiB", kKibi},
                                          {"MiB", kKibi* kKibi},
                                          {"GiB", kKibi* kKibi* kKibi},
                                          {"TiB", kKibi* kKibi* kKibi* kKibi},
                                          {"KB", kThousand},
                                          {"MB", kThousand* kThousand},
                                          {"GB", kThousand* kThousand* kThousand},
                                          {"TB", kThousand* kThousand* kThousand* kThousand}}};

}  // namespace

std::size_t parse_byte_size(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const char* const suffix = std::find_if(parsed.ptr, end, [](char c) { return c != ' '; });
  const auto unit = std::ranges::find(
      kUnits, std::string_view(suffix, static_cast<std::size_t>(end - suffix)), &Unit::name);
  const double bytes = unit != kUnits.end() ? number * unit->bytes : 0;
  require(parsed.ec == std::errc() && unit != kUnits.end() && std::isfinite(bytes) && bytes >= 1 &&
              bytes < std::ldexp(1.0, 63),
          "'{}' is no size; write a number of bytes, or one with B, KB, MB, GB, TB, KiB, MiB, GiB "
          "or TiB, such as 64MiB",
          text);
  return static_cast<std::size_t>(bytes);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 4> kNames = {"B", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= kKibi && unit + 1 < kNames.size(); ++unit) {
    value /= kKibi;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kNames[unit]);
}

}  // namespace antichain
