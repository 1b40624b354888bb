// What the device of a session means for the compiler's passes.
#pragma once

#include "antichain/graph/var.h"
#include "antichain/passes/compiler_options.h"
#include "antichain/runtime/backend.h"

namespace antichain {

/// Returns whether an op is taken apart (OpDef::decompose) to run: the device has no kernel for it.
/// The CPU runs such ops by their reference, except those that consist of products.
bool is_taken_apart(Op op, const Backend& backend);

/// Returns the options with what the backend wants of passes where the user has said nothing.
/// `is_for_budget`: memory counts more than time. The backend must outlive what is returned.
CompilerOptions for_device(CompilerOptions options, Graph& graph, const Backend& backend,
                           bool is_for_budget);

}  // namespace antichain
