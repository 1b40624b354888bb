// Matrix products.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
/// Multiplies the last two axes as matrices; leading axes broadcast. Both ranks are at least 2. The
/// product of i8 is i32, so that its sums do not wrap; other types stay what they are.
Var matmul(const Operand& a, const Operand& b, MatmulOptions options = {});

const OpDef& matmul_def();

std::vector<const OpDef*> matmul_family();

}  // namespace antichain
