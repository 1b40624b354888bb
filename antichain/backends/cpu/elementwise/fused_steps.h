// What is computed for a piece of a fused op's operands, step by step.
//
// The steps of a body with reductions are sorted into sections that follow each other: number 3 n
// are loops over what belongs to rows, 3 n + 1 loops over the domain, 3 n + 2 reductions of what
// they have computed. A step is in the first section in which it can be.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cpu/elementwise/elementwise_plan.h"
#include "antichain/backends/cpu/rows/fold_stages.h"
#include "antichain/backends/cpu/simd/level.h"
#include "antichain/ops/elementwise/fused.h"

namespace antichain::cpu {

class JitCompiler;  // antichain/backends/cpu/jit/jit_compiler.h

enum class Section { rows, domain, folds };
inline Section kind_of(int section) { return static_cast<Section>(section % 3); }

struct FusedSteps {
  std::vector<PieceStep> steps;
  std::vector<Tensor> numbers;
  std::vector<Op> ops;         // one per step
  std::vector<RowFold> folds;  // of the steps in sections of reductions, in order
  bool contract = false;       // a * b + c may be rounded once
  Support support = {};

  /// Returns whether there is more than loops over the domain.
  bool walks_rows() const;
};

/// Returns the ops of the body, numbers and a product aside, in the order of the steps.
std::vector<Op> ops_in_order(Op fused);
/// Returns a step for each of them, by the loops of a level. The product of a fused product is one
/// more input, behind the others.
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
