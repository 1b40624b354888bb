// Text from files and names, made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace antichain {

/// Returns a text in which control characters and bytes that are not UTF-8 are written out
/// ("\x1b"): a terminal shows them and does not obey them. Line ends and tabs are kept.
std::string printable(std::string_view text);

}  // namespace antichain
