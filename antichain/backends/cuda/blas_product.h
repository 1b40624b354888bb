// BlasProduct: products of matrices of one size, planned once by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>

#include "antichain/backends/cuda/device_context.h"

namespace antichain::cuda {

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
  ~BlasProduct();
  BlasProduct(const BlasProduct&) = delete;
  BlasProduct& operator=(const BlasProduct&) = delete;

  /// Returns whether the library can compute it.
  bool is_possible() const { return is_possible_; }
  /// Enqueues it.
  void run(const void* a, const void* b, void* out, const void* bias = nullptr) const;

 private:
  std::shared_ptr<const BlasLibrary> library_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, out_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
  std::shared_ptr<Buffer> workspace_;  // its own: products may run at the same time
  bool is_double_, is_possible_ = false;
};

}  // namespace antichain::cuda
