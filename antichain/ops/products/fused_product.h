// fused_product: a matrix product or convolution and the element-wise ops behind it (bias,
// activation, residual, mask of a gradient), computed together, a block of the product at a time:
// the element-wise ops find the block in the nearest cache, and the product as a whole is never
// stored. Compilers make them, users need not.
#pragma once

#include <functional>
#include <string>

#include "antichain/graph/kernel_context.h"
#include "antichain/ops/control_flow/control_flow.h"

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
/// Says why such an op cannot be computed by kernels that know no other product than this, and
/// whose element-wise ops check no sizes; empty if it can.
std::string why_not_by_blocks(Op fused, const OpDef& product);

/// What kernels for the two halves of such an op see of it. The product is a value of its own here:
/// an output of the first half, and an input of the second, behind the others.
class ProductParts {
 public:
  /// `read` says which inputs of the op the element-wise ops are given.
  ProductParts(const KernelContext& context, std::vector<std::size_t> read);
  ProductParts(const ProductParts&) = delete;
  ProductParts& operator=(const ProductParts&) = delete;

  /// Returns the context of the product alone; good until the next call.
  KernelContext product(const KernelContext& context);
  /// Returns the context of the element-wise ops; good until the next call.
  KernelContext elements(const KernelContext& context);
  /// Returns the product: type and shape, and memory where it was moved to some.
  Tensor& value() { return value_; }

 private:
  Op op_;
  std::vector<std::size_t> factors_, read_;
  Tensor value_;
  Tensor* value_pointer_ = &value_;
  std::vector<const Tensor*> factor_pointers_, input_pointers_;  // of the run at present
};

const OpDef& fused_product_def();

std::vector<const OpDef*> product_fusion_family();

}  // namespace antichain
