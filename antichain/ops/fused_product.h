// fused_product: a matrix product or convolution and the element-wise ops behind it (bias,
// activation, residual, mask of a gradient), computed together, a block of the product at a time:
// the element-wise ops find the block in the nearest cache, and the product as a whole is never
// stored. Compilers make them, users need not.
#pragma once

#include <functional>

#include "antichain/ops/control_flow.h"

namespace antichain {

/// Returns whether an op is a product that element-wise ops may be computed with.
bool is_fusible_product(const OpDef& def);

/// Returns whether an op may stand in a body beside a product of this shape: it is element-wise and
/// has that shape, or is a plain number.
bool follows_product(Op op, const Dims& shape);

/// Builds `body` as one op: one product of values from outside, and such ops.
Vars fused_product(Graph& graph, const std::function<Vars()>& body, Place place = Place::current());

/// Returns the product in the body of such an op.
Op product_of(Op fused);
/// Returns which inputs of such an op the product reads.
std::vector<std::size_t> product_inputs(Op fused);

const OpDef& fused_product_def();

std::vector<const OpDef*> product_fusion_family();

}  // namespace antichain
