// The time of a run on a device that computes while the host goes on.
#pragma once

#include "antichain/session/session.h"

namespace antichain::bench {

/// Returns the median time of a run in milliseconds, of bursts whose last result is waited for.
double burst_milliseconds(const Executable& run, const Feeds& feeds);

}  // namespace antichain::bench
