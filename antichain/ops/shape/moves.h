// Ops that only move elements, as copies between layouts: what the kernels of every backend plan
// with.
#pragma once

#include <vector>

#include "antichain/graph/kernel_context.h"
#include "antichain/ops/shape/layout.h"

namespace antichain {

/// A copy from an input of an op to an output, element by element; both layouts have one shape.
struct Move {
  int output = 0, input = 0;
  Layout to, from;
};

/// Returns broadcast_to, transpose, slice, concat and their like.
std::vector<const OpDef*> moving_ops();
/// Returns the copies that make up such an op, at the sizes and strides of the context.
std::vector<Move> moves_of(const KernelContext& context);

}  // namespace antichain
