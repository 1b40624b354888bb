// What each element-wise op is in LLVM code: the instructions for one element.
#pragma once

#include <string>
#include <vector>

#include "antichain/backends/cpu/jit/code_writer.h"
#include "antichain/graph/graph.h"

namespace antichain::cpu {

/// Returns whether there is code for an element-wise op on its element types.
bool has_code(Op op);

/// Writes such an op on values with these names and returns the name of its result, rounded as that
/// of its loop.
CodeWriter::Name write_op(CodeWriter& writer, Op op, const std::vector<CodeWriter::Name>& operands);

}  // namespace antichain::cpu
