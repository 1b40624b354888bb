// Element-wise ops by vector instructions, for every level that was compiled.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// How a level computes an element-wise op on packed elements.
struct ElementOp {
  ElementLoop loop = nullptr;          // none: it does not
  std::vector<double> constants = {};  // what the loop finds behind its inputs
};

ElementOp element_op(SimdLevel level, Op op);

class JitCompiler;  // antichain/backends/cpu/jit/jit_compiler.h

/// Adds a kernel per operator and level, the widest registers first; those that this CPU cannot run
/// refuse. One for `fused` computes all ops of the body on a piece before the next.
/// Where there is a compiler, runs of its ops are compiled into one loop.
void register_elementwise(KernelTable& kernels, const std::shared_ptr<JitCompiler>& jit = nullptr);

}  // namespace antichain::cpu
