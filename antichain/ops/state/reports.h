// Series of numbers that a graph measures while it runs: residuals, standard errors, active shares.
//
// A number is a state whose name begins with "report/". So it is there on every device and in
// recorded runs, and whoever trains reads it between steps. Reports are no part of a model: nothing
// depends on them, and they are not saved.
#pragma once

#include <string_view>

#include "antichain/graph/state_store.h"
#include "antichain/ops/operand.h"

namespace antichain {

/// Returns `carrier`; whenever it is computed, `value`, one number, is kept as the newest of the
/// series `name` within the open scope. A second series of that name gets a number, except in eager
/// mode. Inside a chain, loop or cond nothing is kept.
Var with_report(Var carrier, std::string_view name, const Operand& value);
/// Returns several carriers: the number is kept whenever one of them is computed.
std::vector<Var> with_report(const std::vector<Var>& carriers, std::string_view name,
                             const Operand& value);

}  // namespace antichain
