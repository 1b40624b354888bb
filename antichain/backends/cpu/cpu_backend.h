// The CPU backend.
#pragma once

#include <memory>

#include "antichain/runtime/backend.h"

namespace antichain {

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace antichain
