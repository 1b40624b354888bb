// vmap of products with sparse matrices.
#pragma once

#include <optional>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

/// One sparse matrix for more columns of the dense one or, where it differs from copy to copy, one
/// sparse matrix with the copies as its diagonal blocks.
std::optional<std::vector<Var>> vmap_csr_matmul(VmapContext& context);
/// The copies are diagonal blocks of one pattern.
std::optional<std::vector<Var>> vmap_csr_sampled_matmul(VmapContext& context);
/// Copies of values on the same patterns are more matrices of the batch.
std::optional<std::vector<Var>> vmap_csr_product(VmapContext& context);

/// Why copies of csr_product are computed one by one where patterns differ.
inline constexpr const char* kPatternsOfEachCopy =
    "a batch has one pattern, and the patterns of the copies differ";

}  // namespace antichain
