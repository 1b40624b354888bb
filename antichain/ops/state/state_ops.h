// Values that outlive a run. Gradients do not flow through state: what is read is a leaf, whatever
// was written to it.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Declares a trainable state that starts as `initial` and returns its value. Its name is qualified
/// by the scope, and must neither be empty nor contain '|'.
Var parameter(std::string_view name, const Operand& initial);
/// Declares a state that optimisers leave alone (running statistics, moments) and returns its
/// value.
Var buffer(std::string_view name, const Operand& initial);
/// Returns the value of a declared state, after all writes built so far.
Var read_state(Graph& graph, std::string_view name, Place place = Place::current());
/// Returns the name of the state that `value` reads; throws InvalidArgument when it is no such
/// value.
const std::string& state_name(Var value);
/// Returns all trainable states of the graph as values.
std::vector<Var> parameters(Graph& graph);
/// Writes a state when the op runs; returns the new value.
Var assign(Graph& graph, std::string_view name, const Operand& value);
/// Adds to a state when the op runs; returns the new value.
Var add_update(Graph& graph, std::string_view name, const Operand& delta);

/// Returns the same value, once the writes have run: whoever computes it has the states updated.
Var after_writes(Var value, const std::vector<Var>& writes);

const OpDef& state_read_def();
const OpDef& assign_def();
const OpDef& add_update_def();

std::vector<const OpDef*> state_family();

}  // namespace antichain
