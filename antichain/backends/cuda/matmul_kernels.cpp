#include "antichain/backends/cuda/matmul_kernels.h"

#include "antichain/backends/cuda/blas_product.h"
#include "antichain/backends/cuda/cuda_error.h"
#include "antichain/ops/matmul.h"

namespace antichain::cuda {

namespace {

// The place of each matrix of a packed operand, in elements, in the order of the result's.
std::vector<std::int64_t> matrix_places(const Shape& own, const Shape& batch) {
  const std::size_t added = batch.size() + 2 - own.size();
  const std::int64_t matrix = own.end()[-1] * own.end()[-2];
  std::vector<std::int64_t> strides(batch.size(), 0);
  std::int64_t stride = matrix;
  for (std::size_t axis = batch.size(); axis-- > added;) {
    strides[axis] = own[axis - added] == 1 ? 0 : stride;
    stride *= own[axis - added];
  }
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

// One call for all matrices where they lie at equal steps, one call each otherwise.
struct Plan {
  BlasProduct product;
  std::vector<std::int64_t> a_at, b_at, out_at;  // bytes
};

KernelFunction plan(const KernelContext& context, const std::shared_ptr<BlasLibrary>& library) {
  const Shape &a = context.in(0).shape(), &b = context.in(1).shape(), &out = context.out().shape();
  BlasSizes sizes{.dtype = context.in(0).dtype(),
                  .rows = out.end()[-2],
                  .columns = out.end()[-1],
                  .inner = a.end()[context.attr<bool>("transpose_a") ? -2 : -1],
                  .transpose_a = context.attr<bool>("transpose_a"),
                  .transpose_b = context.attr<bool>("transpose_b")};
  if (numel(out) == 0) {
    return [](KernelContext&) {};
  }
  if (sizes.inner == 0) {
    return [library](KernelContext& run) {
      check(cudaMemsetAsync(run.out().raw(), 0, run.out().bytes(), library->context().stream()),
            "multiplying matrices");
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
  }
  const auto bytes = static_cast<std::int64_t>(size_of(sizes.dtype));
  std::vector<std::int64_t> out_at;
  for (std::size_t i = 0; i < a_at.size(); ++i) {
    a_at[i] *= bytes;
    b_at[i] *= bytes;
    out_at.push_back(static_cast<std::int64_t>(i) * sizes.rows * sizes.columns * bytes);
  }
  const std::shared_ptr<Plan> planned(
      new Plan{{library, sizes}, std::move(a_at), std::move(b_at), std::move(out_at)});
  return [planned](KernelContext& run) {
    const auto at = [](const Tensor& tensor, std::int64_t byte) {
      return static_cast<std::byte*>(tensor.raw()) + byte;
    };
    for (std::size_t i = 0; i < planned->a_at.size(); ++i) {
      planned->product.run(at(run.in(0), planned->a_at[i]), at(run.in(1), planned->b_at[i]),
                           at(run.out(), planned->out_at[i]));
    }
  };
}

}  // namespace

void register_matmul(KernelTable& kernels, const Context& context, bool tf32) {
  const auto library = std::make_shared<BlasLibrary>(context, tf32);
  kernels.add(matmul_def(),
              {.name = "cublaslt",
               .supports =
                   [](Op op) {
                     return is_float(op.input(0).dtype())
                                ? Support{}
                                : Support::no("cuBLASLt multiplies floats");
                   },
               .plan = [library](const KernelContext& seen) { return plan(seen, library); }});
}

}  // namespace antichain::cuda
