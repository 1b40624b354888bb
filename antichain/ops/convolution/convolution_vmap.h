// vmap of convolutions and their gradients.
#pragma once

#include <optional>
#include <vector>

#include "antichain/graph/vmap_context.h"

namespace antichain {

/// The three tensors of a convolution: each of its ops computes one from the others.
enum class ConvTensor { x, weight, output };

/// Computes all copies of a convolution, or of a gradient of one, as one: copies are more examples
/// where the weight is the same in all of them, more channels where x or the output's gradient is,
/// and groups where both inputs differ; for that their number must be known.
std::optional<std::vector<Var>> vmap_convolution(VmapContext& context, ConvTensor first,
                                                 ConvTensor second, ConvTensor result);

/// Why copies are computed one by one where their number is not known.
inline constexpr const char* kGroupsAreANumber =
    "copies that differ in both inputs become groups, whose number is part of the op, and the "
    "number of copies is not known while the graph is built";

}  // namespace antichain
