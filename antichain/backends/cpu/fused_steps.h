// What is computed for a piece of a fused op's operands, step by step.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cpu/elementwise_plan.h"
#include "antichain/backends/cpu/simd/level.h"

namespace antichain::cpu {

class JitCompiler;  // antichain/backends/cpu/jit/jit_compiler.h

struct FusedSteps {
  std::vector<PieceStep> steps;
  std::vector<Tensor> numbers;
  std::vector<Op> ops;  // one per step
  Support support = {};
};

/// Returns a step for each element-wise op of the body, by the loops of a level. The product of a
/// fused product is one more input, behind the others.
FusedSteps fused_steps(SimdLevel level, Op fused);
/// Says whether a level can run steps of an op, and starts to compile runs of them if it can and
/// there is a compiler.
Support supports_steps(SimdLevel level, Op op, const FusedSteps& steps, JitCompiler* jit);
/// Returns whether nobody in the body of a fused op reads an input after an output has been written
/// to its memory.
bool may_overwrite(Op fused, int out, int in);

/// Returns the runs of at least two ops that can be compiled together: [first, last) of the steps.
std::vector<std::pair<std::size_t, std::size_t>> compiled_runs(const FusedSteps& steps);
/// Returns the code of a run.
Cluster cluster_of(const FusedSteps& steps, std::size_t first, std::size_t last,
                   std::size_t num_inputs);

/// Starts to compile what fused_steps() of the op has runs of.
void start_compiling(const FusedSteps& steps, std::size_t num_inputs, JitCompiler& jit);
/// Returns the steps with compiled loops for those runs.
FusedSteps with_compiled_runs(const FusedSteps& steps, std::size_t num_inputs, JitCompiler& jit);

/// Returns the code of a fused op's runs, and what the machine sees of it, for people to read.
std::string compiled_code(Op fused, const JitCompiler& jit);

}  // namespace antichain::cpu
