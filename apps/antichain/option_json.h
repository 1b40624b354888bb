// Named options in JSON, for lists of them.
#pragma once

#include "antichain/base/settings.h"
#include "apps/antichain/commands.h"

namespace antichain::app {

/// Returns what an option is: name, type, default, what it accepts in words, `min` and `max` of a
/// number that has them, `choices` of a choice, doc.
Json option_json(const OptionSpec& option);

}  // namespace antichain::app
