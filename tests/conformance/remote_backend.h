// A backend whose memory the host cannot touch, as that of a GPU: it shows that the runtime copies
// what it must.
#pragma once

#include <memory>

#include "antichain/runtime/backend.h"

namespace antichain::conformance {

/// Makes the backend. It has one kernel of its own, `negate` of f32; everything else runs by
/// reference.
std::unique_ptr<Backend> make_remote_backend();

}  // namespace antichain::conformance
