// Rules of optimisers for tables of which a step uses some rows: a row whose gradient is zero stays
// as it is, parameter and buffers, and everything else follows the rule.
//
// That is the meaning, whatever the form of the gradient. Inputs: gradient, numbers and `when` as
// in update_ops.h, and perhaps which rows the gradient is of:
//   nothing             all rows of the state
//   ids (i64[count])    those, each at most once; kNoIndex: none
//   marks (bool[rows])  all, of which those without a mark are zero; one that is wider than the
//                       state, a sum of gradients of 16 bits, is rounded to the state's type
// or the gradient on those rows as a product that has not been computed: Sᵀ D, with S in CSR form
//   values[n], ids (i64[count]), slots (i64[n]: columns of S, below count),
//   row_starts (i64[m + 1]), D [m, width]
// and perhaps rows [s, width] that are added to it, with their slots (i64[s]): so that what is
// added up for a row is used at once and kept nowhere (the pass fuse-row-updates).
//
// With the attribute lock_free nothing is added up: the rule is applied to a row for each value of
// a product by itself, by several threads at once without locks (HOGWILD: Recht et al., 2011).
// Threads that change the same row at the same time may lose a change of each other's: no two runs
// are the same.
//
// The pass row-gradients (antichain/passes/simplify/row_gradients.h) brings the first form to the
// second where it can; both give the same bits.
#pragma once

#include "antichain/ops/state/update_ops.h"

namespace antichain {

/// A rule of update_family(), and the op that applies it to rows.
struct RowRule {
  const OpDef* whole;
  const OpDef* rows;
};
/// Returns those that leave rows as they are. The others need all elements of a parameter, or are
/// steps of a rule that does.
const std::vector<RowRule>& row_rules();

struct RowUpdateOptions {
  Var selection = {};      // which rows the gradient is of: ids or marks; none: all
  bool lock_free = false;  // of gradients that are products
};
/// Applies a rule of update_family() to states by rows, as update_states() does to all elements.
/// Throws NotSupported when it has no form for rows.
Var update_rows(const OpDef& rule, const std::vector<std::string>& states, Var gradient,
                const GradientUse& use, const std::vector<Operand>& numbers,
                const RowUpdateOptions& options = {});

/// Adds a gradient to a sum of gradients by rows; where `keep` (f64) is 0 a new sum begins. `marks`
/// names a state (bool[rows]) that tells which rows of the sum were added to: the others are zero.
/// Returns the sum.
Var accumulate_rows(const std::string& sum, const std::string& marks, Var gradient,
                    const GradientUse& use, const Operand& keep);

const OpDef& accumulate_rows_update_def();

std::vector<const OpDef*> row_update_family();

/// Returns whether the op updates rows and takes a gradient of all of them, without marks.
bool takes_all_rows(Op op);
/// Returns whether it takes a gradient of some rows, by their indices; such an op may take the
/// gradient as a product instead, in f32 and f64.
bool could_take_product(Op op);
/// Returns whether it does.
bool takes_product(Op op);

/// Returns the memory of states that are modified in place, for kernels.
UpdatedMemory modified_memory(StateStore& store, std::span<const std::string> states,
                              const TensorMemory& device = host_memory());

/// How a gradient lies beside the state that it belongs to.
struct RowLayout {
  std::int64_t state_rows, gradient_rows, width;
};
RowLayout row_layout(const KernelContext& context, const Tensor& state);

}  // namespace antichain
