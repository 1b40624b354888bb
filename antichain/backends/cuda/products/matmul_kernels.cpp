#include "antichain/backends/cuda/products/matmul_kernels.h"

#include <algorithm>
#include <optional>

#include "antichain/backends/cuda/products/blas_product.h"
#include "antichain/backends/cuda/products/fused_product_kernels.h"
#include "antichain/backends/cuda/products/tall_kernels.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::cuda {

namespace {

// The place of each matrix of a packed operand, in elements, in the order of the result's.
std::vector<std::int64_t> matrix_places(const Shape& own, const Shape& batch) {
  const Strides strides = batch_strides(own, batch);
  std::vector<std::int64_t> places = {0};
  for (std::size_t axis = 0; axis < batch.size(); ++axis) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t place : places) {
      for (std::int64_t n = 0; n < batch[axis]; ++n) {
        longer.push_back(place + n * strides[axis]);
      }
    }
    places = std::move(longer);
  }
  return places;
}

// The step from each place to the next, if it is always the same.
std::optional<std::int64_t> equal_step(const std::vector<std::int64_t>& places) {
  const std::int64_t step = places.size() > 1 ? places[1] - places[0] : 0;
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] != step) {
      return std::nullopt;
    }
  }
  return step;
}

// Where the values of a product are among an op's inputs, and what the library does with it before
// it is stored.
struct ProductUse {
  Op product;
  std::size_t a = 0, b = 1;
  std::optional<std::size_t> bias = std::nullopt;  // added along the last axis
  bool relu = false;
};

// One call for all matrices where they lie at equal steps, one call each otherwise.
struct BlasCalls {
  BlasProduct product;
  std::vector<std::int64_t> a_at, b_at, out_at;  // bytes
};

// Returns nothing where a product is none of ours.
KernelFunction plan_tall(const Context& device, const ProductUse& use, const BlasSizes& sizes) {
  if (TallReduction::fits(sizes)) {
    const auto sums = std::make_shared<TallReduction>(device, sizes);
    return [sums, use](KernelContext& run) {
      const void *const a = run.inputs[use.a]->raw(), *const b = run.inputs[use.b]->raw();
      sums->run({&a, 1}, {&b, 1}, run.out().raw());
    };
  }
  if (TallProduct::fits(sizes)) {
    const auto product = std::make_shared<TallProduct>(device, sizes);
    return [product, use](KernelContext& run) {
      product->run(run.inputs[use.a]->raw(), run.inputs[use.b]->raw(), run.out().raw(),
                   use.bias ? run.inputs[*use.bias]->raw() : nullptr);
    };
  }
  return nullptr;
}

// Returns nothing where the library cannot do it.
KernelFunction plan_matmul(const KernelContext& context,
                           const std::shared_ptr<BlasLibrary>& library, const ProductUse& use) {
  const Shape &a = context.inputs[use.a]->shape(), &b = context.inputs[use.b]->shape();
  const Shape& out = context.out().shape();
  const bool transpose_a = use.product.attrs().get<bool>("transpose_a");
  BlasSizes sizes{.dtype = context.inputs[use.a]->dtype(),
                  .rows = out.end()[-2],
                  .columns = out.end()[-1],
                  .inner = a.end()[transpose_a ? -2 : -1],
                  .transpose_a = transpose_a,
                  .transpose_b = use.product.attrs().get<bool>("transpose_b"),
                  .bias = use.bias.has_value(),
                  .relu = use.relu};
  if (numel(out) == 0) {
    return [](KernelContext&) {};
  }
  if (sizes.inner == 0) {
    return [library](KernelContext& run) {
      library->context()->fill(run.out().raw(), 0, run.out().bytes());
    };
  }
  Shape batch(out.begin(), out.end() - 2);
  std::vector<std::int64_t> a_at = matrix_places(a, batch), b_at = matrix_places(b, batch);
  const auto count = static_cast<std::int64_t>(a_at.size());
  const auto a_step = equal_step(a_at), b_step = equal_step(b_at);
  const bool is_tall =  // one matrix, of the rows of all
      b_step == 0 && a_step == sizes.rows * sizes.inner && !sizes.transpose_a;
  if (is_tall) {
    sizes.rows *= count;
  } else if (a_step && b_step) {
    sizes.count = count;
    sizes.a_step = *a_step;
    sizes.b_step = *b_step;
  }
  if (is_tall || (a_step && b_step)) {
    a_at = b_at = {0};
    if (KernelFunction tall = plan_tall(library->context(), use, sizes)) {
      return tall;
    }
  }
  const auto bytes = static_cast<std::int64_t>(size_of(sizes.dtype));
  std::vector<std::int64_t> out_at;
  for (std::size_t i = 0; i < a_at.size(); ++i) {
    a_at[i] *= bytes;
    b_at[i] *= bytes;
    out_at.push_back(static_cast<std::int64_t>(i) * sizes.rows * sizes.columns * bytes);
  }
  const std::shared_ptr<BlasCalls> planned(
      new BlasCalls{{library, sizes}, std::move(a_at), std::move(b_at), std::move(out_at)});
  if (!planned->product.is_possible()) {
    return nullptr;
  }
  return [planned, use](KernelContext& run) {
    const auto at = [](const Tensor& tensor, std::int64_t byte) {
      return static_cast<std::byte*>(tensor.raw()) + byte;
    };
    const void* const bias = use.bias ? run.inputs[*use.bias]->raw() : nullptr;
    for (std::size_t i = 0; i < planned->a_at.size(); ++i) {
      planned->product.run(at(*run.inputs[use.a], planned->a_at[i]),
                           at(*run.inputs[use.b], planned->b_at[i]),
                           at(run.out(), planned->out_at[i]), bias);
    }
  };
}

// A bias has an element per column, and is 1 along all other axes.
bool is_bias(Var value, Var product) {
  const Dims& shape = value.shape();
  return value.dtype() == product.dtype() && !shape.empty() &&
         shape.back() == product.shape().back() &&
         std::all_of(shape.begin(), shape.end() - 1, [](Dim dim) { return dim == Dim(1); });
}

// How the library computes a fused product by itself: bias, relu or both, and nothing else.
std::optional<ProductUse> whole_use(Op fused) {
  Graph& graph = fused.graph();
  const RegionInfo& body = graph.region(fused.regions()[0]);
  const std::vector<std::size_t> factors = product_inputs(fused);
  ProductUse use{.product = product_of(fused), .a = factors[0], .b = factors[1]};
  Var value = use.product.output();
  for (const OpId id : body.ops) {
    const Op op = graph.op(id);
    if (op == use.product) {
      continue;
    }
    const bool adds = &op.def() == &add_def() && !use.bias && !use.relu;
    if (adds && (op.input(0) == value || op.input(1) == value)) {
      const Var bias = op.input(op.input(0) == value ? 1 : 0);
      const auto param = std::ranges::find(body.params, bias.id());
      if (param == body.params.end() || !is_bias(bias, value)) {
        return std::nullopt;
      }
      use.bias = static_cast<std::size_t>(param - body.params.begin());
    } else if (op.def().name == "relu" && op.input(0) == value && !use.relu) {
      use.relu = true;
    } else {
      return std::nullopt;
    }
    value = op.output();
  }
  const bool is_result = body.results.size() == 1 && body.results[0] == value.id();
  return is_result && (use.bias || use.relu) ? std::optional(use) : std::nullopt;
}

Support supports_matmul(Op op) {
  return is_float(op.input(0).dtype()) ? Support{} : Support::no("cuBLASLt multiplies floats");
}

Support supports_whole(Op fused) {
  const Op product = product_of(fused);
  if (&product.def() != &matmul_def()) {
    return Support::no("its product is " + product.def().name);
  }
  if (!whole_use(fused)) {
    return Support::no("cuBLASLt adds a bias and takes relu, nothing else");
  }
  if (product.output().dtype() == DType::f64) {
    return Support::no("cuBLASLt adds no bias to f64");
  }
  const Dim inner = product.input(0).dim(product.attrs().get<bool>("transpose_a") ? -2 : -1);
  if (!inner.is_constant() || inner.constant() == 0) {
    return Support::no("it may be a sum of nothing");
  }
  return product.graph().constraints(product).empty()
             ? supports_matmul(product)
             : Support::no("sizes in the body must be checked");
}

}  // namespace

Strides batch_strides(const Shape& own, const Shape& batch) {
  Strides strides(batch.size(), 0);
  const std::size_t added = batch.size() + 2 - own.size();
  const Strides packed = contiguous_strides(own);
  for (std::size_t axis = added; axis < batch.size(); ++axis) {
    strides[axis] = own[axis - added] == 1 ? 0 : packed[axis - added];
  }
  return strides;
}

void register_matmul(KernelTable& kernels, const Context& context, bool tf32) {
  const auto library = std::make_shared<BlasLibrary>(context, tf32);
  const Kernel product{.name = "cublaslt",
                       .supports = supports_matmul,
                       .plan = [library](const KernelContext& seen) {
                         KernelFunction planned = plan_matmul(seen, library, {.product = seen.op});
                         ensure(planned != nullptr, "cuBLASLt has no product of this size");
                         return planned;
                       }};
  kernels.add(matmul_def(), product);
  const Kernel in_two = fused_product_kernel(matmul_def(), product, context);
  kernels.add(fused_product_def(), {.name = "cublaslt with bias and relu",
                                    .supports = supports_whole,
                                    .plan = [library, in_two](const KernelContext& seen) {
                                      KernelFunction whole =
                                          plan_matmul(seen, library, *whole_use(seen.op));
                                      return whole ? whole : in_two.plan(seen);
                                    }});
}

}  // namespace antichain::cuda
