// Rules of vmap (OpDef::vmap) that many ops share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

using VmapRule = std::function<std::optional<std::vector<Var>>(VmapContext&)>;

/// Why an op without inputs has no rule.
inline constexpr const char* kSameInAllCopies =
    "it has no inputs, so it is computed once for all copies";
/// Why an op whose output sizes depend on data has none.
inline constexpr const char* kSizesOfEachCopy =
    "it finds out sizes when it runs, which may differ from copy to copy";

/// Element-wise ops, which broadcast: axes of size 1 behind the mapped one give all inputs the
/// rank of the output.
std::optional<std::vector<Var>> vmap_elementwise(VmapContext& context);
/// Matrix products, whose leading axes broadcast.
std::optional<std::vector<Var>> vmap_matmul(VmapContext& context);
/// Ops whose attributes say nothing about axes counted from the front. Does not apply where one of
/// the inputs `shared` differs from copy to copy.
VmapRule vmap_unchanged(const std::vector<int>& shared = {});
/// Reductions: attributes "axes" and "keep_dims".
std::optional<std::vector<Var>> vmap_reduction(VmapContext& context);
/// Ops with an attribute "axis", counted in all of their inputs or, as `of_output` says, in their
/// output.
VmapRule vmap_along_axis(bool of_output = false);
/// Ops that compute each place of the first axis of all inputs and outputs by itself: copies are
/// more places.
std::optional<std::vector<Var>> vmap_by_first_axis(VmapContext& context);

/// Returns a value [copies, shape...] as [copies * shape[0], shape[1], ...].
Var fold_copies(Var value);
/// Returns a value whose first axis counts the places of all copies as [copies, shape...].
Var unfold_copies(Var value, Dim copies, const Dims& shape);
/// Returns axes of one copy as axes of all.
std::vector<std::int64_t> axes_behind_copies(std::vector<std::int64_t> axes, int rank);
/// Returns the mapped value of an input with axes of size 1 behind the mapped one, so that it has
/// `rank` others; a value that is not mapped, or has as many, as it is.
Var aligned_input(const VmapContext& context, int input, int rank);
/// Returns what is the same in all copies with the mapped axis.
Var repeat_for_copies(Var value, Dim copies);
/// Returns indices into an axis of this size, [copies, ...], as those into the axes of all copies
/// one behind the other. An index that is outside of its axis stays outside, and so remains an
/// error.
Var indices_in_all_copies(const VmapContext& context, Var indices, Dim size);
/// Returns the number of each copy, i64[copies, 1, ...] of this rank.
Var copy_numbers(const VmapContext& context, int rank);

}  // namespace antichain
