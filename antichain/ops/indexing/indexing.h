// Ops that look elements up by integer values. Indices must lie in [0, size): the run checks it.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Takes whole slices of `axis`: the axis is replaced by the axes of `indices`.
Var gather(const Operand& x, const Operand& indices, std::int64_t axis = 0);
/// Adds slices of `updates` to the slices of `x` that `indices` name: the transpose of gather.
Var scatter_add(const Operand& x, const Operand& indices, const Operand& updates,
                std::int64_t axis = 0);
/// Takes one element per index along `axis`; x and indices agree on all other axes.
Var take_along(const Operand& x, const Operand& indices, std::int64_t axis);
/// Adds one element per index along `axis`: the transpose of take_along.
Var scatter_add_along(const Operand& x, const Operand& indices, const Operand& updates,
                      std::int64_t axis);
/// Returns 1 where the new last axis equals the index, 0 elsewhere (also for indices outside).
Var one_hot(const Operand& indices, Dim classes, DType dtype = DType::f32);
/// Looks rows of a table up.
Var embedding(const Operand& table, const Operand& ids);
enum class BagMode { sum, mean };
/// Looks rows up and adds (or averages) those of one bag: `bags` gives the bag of each id. Empty
/// bags are 0.
Var embedding_bag(const Operand& table, const Operand& ids, const Operand& bags, Dim num_bags,
                  BagMode mode = BagMode::sum);

struct UniqueIndices {
  Var indices;  // i64[min(count, size)]: in rising order, each once, then kNoIndex
  Var slots;    // i64[count]: where each index of the list stands among them
};
/// Stands in a list of indices for none.
inline constexpr std::int64_t kNoIndex = -1;
/// Finds the indices (i64[count], of an axis of this size) that a list has.
UniqueIndices unique_indices(const Operand& indices, Dim size);

const OpDef& gather_def();
const OpDef& scatter_add_def();
const OpDef& take_along_def();
const OpDef& scatter_add_along_def();
const OpDef& one_hot_def();
const OpDef& embedding_def();
const OpDef& embedding_bag_def();
const OpDef& unique_indices_def();

std::vector<const OpDef*> indexing_family();

}  // namespace antichain
