// How the matmul kernels of this backend work, whichever library multiplies: a product is cut into
// blocks by its shape alone, and each block is one call of the library by one thread. Libraries
// that cut by the number of threads give other bits on other machines.
#pragma once

#include <cstdint>
#include <functional>

#include "antichain/backends/cpu/products/product_kernel.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// The distance between elements below each other and beside each other. One of them is 1, the
/// other at least the length of what lies between.
struct MatrixStrides {
  std::int64_t row, column;
};

/// out[rows, columns] = a[rows, inner] b[inner, columns]; no size is 0.
struct ProductSizes {
  DType dtype;  // of a and b
  std::int64_t rows, columns, inner;
  MatrixStrides a, b;
  std::int64_t out_row;  // the distance between rows of the result
};

/// Computes one product; called by one thread at a time.
using Product = std::function<void(const void* a, const void* b, void* out)>;
using MakeProduct = std::function<Product(const ProductSizes&)>;

/// Says how many parts each side of a product is cut into.
struct Grid {
  std::int64_t rows = 1, columns = 1;
};

/// Cuts `count` products of this size into as many blocks as are worth a thread each.
Grid choose_grid(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t count);

/// Plans a matmul whose elements are multiplied as `dtype`: converted there and back where they are
/// of another type. Takes inputs of any strides; `make` is called for every block.
ProductPlan plan_matmul(const KernelContext& context, DType dtype, const MakeProduct& make,
                        Destination to);

}  // namespace antichain::cpu
