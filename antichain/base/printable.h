// Text from files and names, made safe to show.
#pragma once

#include <string>
#include <string_view>

namespace antichain {

/// How many lines a text may have.
enum class Lines { any, one };

/// Returns a text in which control characters and bytes that are not UTF-8 are written out
/// ("\x1b"): a terminal shows them and does not obey them. Tabs are kept, and
/// line ends where there may be any: a name with one in it does not pass for a second sentence.
std::string printable(std::string_view text, Lines lines = Lines::any);

}  // namespace antichain
