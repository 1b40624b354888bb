// BlasProduct: products of matrices of one size, planned once by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "antichain/backends/cuda/core/device_context.h"

namespace antichain::cuda {

/// Destroys what the library describes products with.
struct BlasDestroy {
  void operator()(cublasLtMatmulDescOpaque_t* product) const;
  void operator()(cublasLtMatrixLayoutOpaque_t* layout) const;
  void operator()(cublasLtMatmulPreferenceOpaque_t* preference) const;
};
template <class Handle>
using BlasHandle = std::unique_ptr<std::remove_pointer_t<Handle>, BlasDestroy>;

/// The library on one GPU.
class BlasLibrary {
 public:
  /// With `tf32`, products of f32 matrices may round their factors to 11 bits.
  BlasLibrary(Context context, bool tf32);
  ~BlasLibrary();
  BlasLibrary(const BlasLibrary&) = delete;
  BlasLibrary& operator=(const BlasLibrary&) = delete;

  cublasLtHandle_t handle() const { return handle_; }
  const Context& context() const { return context_; }
  bool tf32() const { return tf32_; }

 private:
  Context context_;
  bool tf32_;
  cublasLtHandle_t handle_ = nullptr;
};

/// `count` products out[rows, columns] = a[rows, inner] b[inner, columns] of packed matrices, which
/// may be stored transposed. Steps lead from a matrix to the next, in elements. A bias [columns] is
/// added to every row, and relu taken of the sum, before either is rounded.
struct BlasSizes {
  DType dtype;
  std::int64_t rows, columns, inner;
  bool transpose_a = false, transpose_b = false;
  std::int64_t count = 1, a_step = 0, b_step = 0;
  bool bias = false, relu = false;
};

class BlasProduct {
 public:
  BlasProduct(std::shared_ptr<const BlasLibrary> library, const BlasSizes& sizes);

  /// Returns whether the library can compute it.
  bool is_possible() const { return is_possible_; }
  /// Enqueues it, whatever the addresses are multiples of. The GPU is held.
  void run(const void* a, const void* b, void* out, const void* bias = nullptr) const;

 private:
  using Algorithm = std::optional<cublasLtMatmulAlgo_t>;
  Algorithm find_algorithm(std::uint32_t alignment);

  std::shared_ptr<const BlasLibrary> library_;
  bool is_double_, has_bias_;
  BlasHandle<cublasLtMatmulDesc_t> product_;
  BlasHandle<cublasLtMatrixLayout_t> a_, b_, out_;
  // What is promised of addresses decides how the library reads: views need not begin where memory
  // does.
  Algorithm aligned_, unaligned_;
  std::size_t workspace_bytes_ = 0;
  std::shared_ptr<Buffer> workspace_;  // its own: products may run at the same time
  bool is_possible_ = false;
};

}  // namespace antichain::cuda
