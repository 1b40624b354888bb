// Damages files that were valid: what every fuzz test of a reader begins with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "antichain/base/random_functions.h"

namespace antichain {

class Damage {
 public:
  /// Characters that mean something in the format are put in more often than others.
  explicit Damage(std::int64_t seed, std::string_view meaningful = "0189-,:\n\r\t\" ({'[]}e.\\")
      : stream_{.seed = seed}, meaningful_(meaningful) {}

  /// Returns the content with up to four bytes changed, sometimes with a piece of itself put in,
  /// cut off, or with a run of one character put in.
  std::string apply(const std::string& valid);
  /// Returns a number below `end`.
  std::size_t below(std::size_t end) { return random_word(stream_, draw_++) % end; }

 private:
  RandomStream stream_;
  std::int64_t draw_ = 0;
  std::string_view meaningful_;
};

}  // namespace antichain
