// Ops that change how gradients flow and nothing else.
#pragma once

#include <functional>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/operand.h"

namespace antichain {

/// Returns x; no gradient flows through.
Var stop_gradient(const Operand& x);
/// Computes `forward(inputs)`, differentiated by `backward(inputs, output gradients)`, which
/// returns one gradient per input.
Vars custom_gradient(
    const Vars& inputs, const std::function<Vars(const Vars&)>& forward,
    const std::function<Vars(const Vars& inputs, const Vars& output_grads)>& backward,
    Place place = Place::current());
/// Returns x; its gradient passes through `hook` on the way back (clipping, low-bit, logging).
Var gradient_hook(const Operand& x, const std::function<Var(Var gradient)>& hook);

const OpDef& stop_gradient_def();
const OpDef& custom_gradient_def();

std::vector<const OpDef*> gradient_family();

}  // namespace antichain
