// ChainBody: the body of a chain as one kernel computes it (a persistent kernel), a few rows of the
// states per block of threads.
//
// Such a body computes row by row: matrices that it multiplies by are the same for all rows, and
// no row reads another. So blocks need not wait for each other, all steps are one launch, and what
// passes from step to step stays in shared memory.
//
// States of three axes are groups of rows, each of which has matrices of its own or those of all:
// the intervals of a relaxation are such (engine multigrid). A block has rows of one group.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "antichain/base/support.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::cuda {

/// A value as a block keeps it.
struct ChainValue {
  enum class Kind { rows, shared, matrix };  // some rows of it, one row for all of them, a factor
  enum class Source { state, sequence, captured, body };
  Kind kind;
  Source source;
  DType dtype;
  std::int64_t columns;
  std::int64_t height = 1;  // of a matrix
  int input = -1;           // of the chain, where it comes from outside
  bool grouped = false;     // comes from outside, and every group has its own
};

/// Some columns of a value, a number, or the number of the step.
struct ChainOperand {
  int value = -1;  // none: a number or the step
  std::int64_t first = 0, columns = 1;
  Op number = {};  // a constant; none: the step
};

/// out = left · matrix.
struct ChainProduct {
  ChainOperand left;
  int matrix, out;
  bool transposed;
};
/// Element-wise ops, in order, from `operands` to columns of other values; a copy where there are
/// none.
struct ChainElements {
  std::vector<Op> ops;
  std::vector<std::pair<VarId, ChainOperand>> operands;
  struct Result {
    VarId from;
    int value;
    std::int64_t first;
  };
  std::vector<Result> results;
  std::int64_t columns;
  bool contract = false;  // may round a * b + c once
};
using ChainStage = std::variant<ChainProduct, ChainElements>;

struct ChainBody {
  explicit ChainBody(Op chain);

  Support support;  // whether there is what follows
  bool has_groups = false;
  std::vector<ChainValue> values;
  std::vector<ChainStage> stages;
  std::vector<ChainOperand> results;  // of the body
};

}  // namespace antichain::cuda
