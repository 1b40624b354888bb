// Kernels of products: matrix products and convolutions, by whichever library. A product is cut
// into blocks, each computed by one thread. It goes into its output, or block by block to somebody
// who takes each of them in that thread, while it is in the thread's cache: see fused_product.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "antichain/backends/cpu/threads/work_blocks.h"
#include "antichain/base/function_ref.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Takes a finished block: its elements, packed.
using TakeBlock = FunctionRef<void(const Block& block, const std::byte* elements)>;

/// Says where a product goes.
enum class Destination { output, taker };

/// Where the blocks of one run go.
class ProductTarget {
 public:
  /// Sends a product that the library computes as `computed` to `output`, or to `take` if that is
  /// there: then `output` only tells type and shape.
  ProductTarget(const Tensor& output, DType computed, const TakeBlock* take)
      : output_(output), computed_(computed), take_(take) {}

  /// Returns whether blocks are computed apart from the output, packed: because somebody takes
  /// them, or because they are converted afterwards.
  static bool is_apart(const Tensor& output, DType computed, Destination to) {
    return to == Destination::taker || output.dtype() != computed;
  }

  /// Makes one block: `compute` writes it, packed where blocks are apart, otherwise at its place in
  /// the output.
  void make(const Block& block, FunctionRef<void(void* elements)> compute) const;

 private:
  const Tensor& output_;
  DType computed_;
  const TakeBlock* take_;
};

/// A product made ready for its sizes.
struct ProductPlan {
  std::function<void(KernelContext&, const TakeBlock* take)> run;
  bool cuts_rows = false;  // some block is not one run of elements
};

/// Plans sums of nothing.
ProductPlan plan_zeros();

/// One way to compute a kind of product.
struct ProductKernel {
  std::string name;
  const OpDef* def;
  std::function<Support(Op)> supports;
  /// Prepares as Kernel::plan does. What it returns is given somebody who takes blocks if that is
  /// the destination.
  std::function<ProductPlan(const KernelContext&, Destination)> plan = nullptr;
  bool strided_inputs = false;
};

/// Adds kernels that compute whole products.
void register_products(KernelTable& kernels, const std::vector<ProductKernel>& products);

}  // namespace antichain::cpu
