// An answer to "can you do this?".
#pragma once

#include <string>
#include <utility>

namespace antichain {

/// Says yes, or why not.
struct Support {
  bool yes = true;
  std::string reason = {};

  static Support no(std::string why) { return {false, std::move(why)}; }
};

}  // namespace antichain
