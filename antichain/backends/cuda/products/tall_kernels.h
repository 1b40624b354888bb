// Products of f32 matrices one axis of which is long while the others are short (tall and skinny
// GEMM), as they are in gradients and layers of recurrent models: kernels of our own, bound by
// memory, where cuBLASLt has tiles for large matrices only.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/products/blas_product.h"
#include "antichain/backends/cuda/products/tall_forms.h"

namespace antichain::cuda {

/// Returns the kernels for a form.
std::string tall_reduction_text(const TallReductionForm& form);
std::string tall_product_text(const TallProductForm& form);

/// Products whose summed axis, of `count` steps, is long, by two launches.
class TallReduction {
 public:
  static bool fits(const BlasSizes& sizes);
  TallReduction(const Context& context, const BlasSizes& sizes);
  /// Of several matrices on either side, which lie packed step by step.
  TallReduction(const Context& context, const TallSources& left, const TallSources& right,
                std::int64_t count);

  using Addresses = std::span<const void* const>;
  /// Enqueues it, whatever the addresses are multiples of.
  void run(Addresses a, Addresses b, void* out);

 private:
  TallReduction(const Context& context, const TallReductionForm& form, std::int64_t count);

  bool steps_aligned_a_, steps_aligned_b_;  // if the matrices are
  std::shared_ptr<Buffer> found_;
  Launch sum_, join_;
};

/// A product whose first matrix is long, with bias and relu behind it.
class TallProduct {
 public:
  static bool fits(const BlasSizes& sizes);
  TallProduct(const Context& context, const BlasSizes& sizes);

  /// Enqueues it, whatever the addresses are multiples of.
  void run(const void* a, const void* b, void* out, const void* bias);

 private:
  Launch multiply_;
};

}  // namespace antichain::cuda
