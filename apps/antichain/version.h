// What this build is.
#pragma once

#include <string>

namespace antichain::app {

/// Returns version and optional parts: for people, or as a line of JSON.
std::string version_text(bool json);

}  // namespace antichain::app
