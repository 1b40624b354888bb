#include "antichain/backends/cpu/convolution/blas_convolution.h"

#include "antichain/ops/convolution/convolution.h"

#ifdef ANTICHAIN_HAS_BLAS
#include "antichain/backends/cpu/convolution/conv_plan.h"
#include "antichain/backends/cpu/convolution/window_columns.h"
#include "antichain/backends/cpu/products/blas_gemm.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/partial_sums.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/backends/cpu/threads/work_blocks.h"
#endif

namespace antichain::cpu {

#ifdef ANTICHAIN_HAS_BLAS

namespace {

// With channels last, x and output have the channels along their rows, so the weight is the right
// factor; columns of their own are the same in any case.
bool is_weight_first(const ConvSizes& sizes, const WindowColumns& columns, ConvPart part) {
  return !sizes.order.channels_last || (part == ConvPart::x && !columns.are_x());
}

// For one group of one example, with columns[k, n] of x, weight[m, k] and output[m, n], or
// output[n, m] where channels are last.
ProductSizes product_of(const ConvSizes& sizes, const WindowColumns& columns, ConvPart part,
                        DType dtype) {
  const std::int64_t m = sizes.out, k = columns.rows(), n = columns.count();
  const MatrixStrides weight{k, 1}, output{sizes.output.channel, sizes.output.position};
  const auto transposed = [](MatrixStrides at) { return MatrixStrides{at.column, at.row}; };
  const bool weight_first = is_weight_first(sizes, columns, part);
  switch (part) {
    case ConvPart::output:  // weight columns, or columns^T weight^T
      if (weight_first) {
        return {dtype, m, n, k, weight, columns.strides(), output.row};
      }
      return {dtype, n, m, k, transposed(columns.strides()), transposed(weight), output.column};
    case ConvPart::x:  // weight^T output, or output^T weight
      if (weight_first) {
        return {dtype, k, n, m, transposed(weight), output, n};
      }
      return {dtype, n, k, m, transposed(output), weight, sizes.x.position};
    case ConvPart::weight: break;
  }
  return {dtype, m, k, n, output, transposed(columns.strides()), k};  // output columns^T
}

template <class T>
class ColumnConv {
 public:
  ColumnConv(const ConvSizes& sizes, ConvPart part)
      : part_(part),
        sizes_(sizes),
        columns_(sizes),
        cut_(sizes.batch, choose_conv_grid(sizes, part).batch),
        first_(product_of(sizes, columns_, part, dtype_of<T>())),
        next_(product_of(sizes, columns_, part, dtype_of<T>()), true) {
    if (part == ConvPart::weight && cut_.parts() > 1) {
      partial_ = Tensor::empty(dtype_of<T>(), {cut_.parts(), sizes.weight_size()});
    }
  }

  void run(const T* first, const T* second, const ProductTarget& result) const {
    if (part_ == ConvPart::weight) {
      const std::int64_t size = sizes_.weight_size();
      result.make({0, 1, size, size},
                  [&](void* weight) { sum_up(first, second, static_cast<T*>(weight)); });
      return;
    }
    const std::int64_t size = part_ == ConvPart::output ? sizes_.output_size() : sizes_.x_size();
    parallel_tasks(cut_.parts(), [&](std::int64_t part) {
      for (std::int64_t n = 0; n < cut_.length_of(part); ++n) {
        const std::int64_t example = cut_.first(part) + n;
        result.make({example * size, 1, size, size}, [&](void* elements) {
          convolve(first, second, static_cast<T*>(elements), example);
        });
      }
    });
  }

 private:
  void sum_up(const T* output, const T* x, T* weight) const {
    T* const sums = partial_.defined() ? partial_.data<T>() : weight;
    parallel_tasks(cut_.parts(), [&](std::int64_t part) {
      for (std::int64_t n = 0; n < cut_.length_of(part); ++n) {
        add_weight(output, x, sums + part * sizes_.weight_size(), cut_.first(part) + n, n == 0);
      }
    });
    if (partial_.defined()) {
      add_partial_sums(sums, cut_.parts(), sizes_.weight_size(), weight);
    }
  }

  // Elements from a group to the next.
  std::int64_t group_x() const { return sizes_.in * sizes_.x.channel; }
  std::int64_t group_output() const { return sizes_.out * sizes_.output.channel; }
  std::int64_t group_weight() const { return sizes_.weight_size() / sizes_.groups; }

  T* own_columns() const {
    const std::int64_t count = columns_.are_x() ? 0 : columns_.rows() * columns_.count();
    return reinterpret_cast<T*>(thread_scratch(static_cast<std::size_t>(count) * sizeof(T)));
  }
  const T* columns_of(const T* x, T* own) const {
    if (columns_.are_x()) {
      return x;
    }
    columns_.gather(x, own);
    return own;
  }

  const T* x_of(const T* x, std::int64_t example, std::int64_t group) const {
    return x + example * sizes_.x.example + group * group_x();
  }
  const T* output_of(const T* output, std::int64_t example, std::int64_t group) const {
    return output + example * sizes_.output.example + group * group_output();
  }

  void multiply(const T* weight, const T* other, T* result) const {
    const bool weight_first = is_weight_first(sizes_, columns_, part_);
    first_(weight_first ? weight : other, weight_first ? other : weight, result);
  }

  // `result` is that of the example alone.
  void convolve(const T* first, const T* weight, T* result, std::int64_t example) const {
    T* const own = own_columns();
    for (std::int64_t group = 0; group < sizes_.groups; ++group, weight += group_weight()) {
      if (part_ == ConvPart::output) {
        multiply(weight, columns_of(x_of(first, example, group), own),
                 result + group * group_output());
        continue;
      }
      T* const x = result + group * group_x();
      multiply(weight, output_of(first, example, group), columns_.are_x() ? x : own);
      if (!columns_.are_x()) {
        columns_.scatter(own, x);
      }
    }
  }

  void add_weight(const T* output, const T* x, T* weight, std::int64_t example,
                  bool is_first) const {
    T* const own = own_columns();
    for (std::int64_t group = 0; group < sizes_.groups; ++group, weight += group_weight()) {
      (is_first ? first_ : next_)(output_of(output, example, group),
                                  columns_of(x_of(x, example, group), own), weight);
    }
  }

  ConvPart part_;
  ConvSizes sizes_;
  WindowColumns columns_;
  Cut cut_;                // of the batch
  BlasGemm first_, next_;  // overwrites, adds
  Tensor partial_;
};

template <class T>
ProductPlan plan_as(const KernelContext& context, ConvPart part, Destination to) {
  // Blocks are whole examples, packed in any case.
  const auto make = [part](const ConvSizes& sizes, bool) {
    const auto conv = std::make_shared<const ColumnConv<T>>(sizes, part);
    return [conv](const void* first, const void* second, const ProductTarget& result) {
      conv->run(static_cast<const T*>(first), static_cast<const T*>(second), result);
    };
  };
  return plan_conv(context, part, dtype_of<T>(), make, to);
}

void add_blas_kernel(std::vector<ProductKernel>& products, const OpDef& def, ConvPart part) {
  products.push_back(
      {.name = "im2col blas",
       .def = &def,
       .supports = [](Op) { return Support{}; },
       .plan = [part](const KernelContext& context,
                      Destination to) { return plan_column_conv(context, part, to); }});
}

}  // namespace

ProductPlan plan_column_conv(const KernelContext& context, ConvPart part, Destination to) {
  return context.in(0).dtype() == f64 ? plan_as<double>(context, part, to)
                                      : plan_as<float>(context, part, to);
}

void add_blas_convolution(std::vector<ProductKernel>& products) {
  use_one_blas_thread();
  add_blas_kernel(products, conv_def(), ConvPart::output);
  add_blas_kernel(products, conv_input_gradient_def(), ConvPart::x);
  add_blas_kernel(products, conv_transpose_def(), ConvPart::x);
  add_blas_kernel(products, conv_weight_gradient_def(), ConvPart::weight);
}

#else

void add_blas_convolution(std::vector<ProductKernel>& products) {
  for (const OpDef* def : convolution_family()) {
    products.push_back({.name = "im2col blas", .def = def, .supports = [](Op) {
                          return Support::no("this build has no BLAS library");
                        }});
  }
}

#endif

}  // namespace antichain::cpu
