// Ops that watch values pass.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns x and prints it, with the message, whenever it is computed.
Var print(const Operand& x, std::string_view message = {});
/// Returns x; the run fails with a DataError that names the op when an element is NaN or infinite.
Var assert_finite(const Operand& x, std::string_view message = {});

std::vector<const OpDef*> debug_family();

}  // namespace antichain
