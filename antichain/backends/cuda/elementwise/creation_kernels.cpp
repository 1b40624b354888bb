#include "antichain/backends/cuda/elementwise/creation_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::cuda {

namespace {

KernelFunction plan_iota(const KernelContext& context, const Context& device) {
  const std::int64_t count = context.out().numel();
  const auto launch = std::make_shared<Launch>(device, iota_text(context.out().dtype()), "count",
                                               count, std::vector<std::int64_t>{count, 0});
  return [launch](KernelContext& run) {
    launch->set(1, run.out().raw());
    launch->run();
  };
}

KernelFunction plan_numbers(const Context& device, std::vector<std::int64_t> numbers) {
  const std::size_t count = numbers.size();
  numbers.push_back(0);
  const auto launch = std::make_shared<Launch>(device, numbers_text(count), "write",
                                               count > 0 ? 1 : 0, dim3(1), std::move(numbers));
  return [launch, count](KernelContext& run) {
    launch->set(count, run.out().raw());
    launch->run();
  };
}

}  // namespace

std::string iota_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain::device;
struct Arguments {{
  long long count;
  {0}* out;
}};
extern "C" __global__ void count(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
    a.out[i] = stored<{0}>(Compute<{0}>(i));
  }}
}}
)",
                     storage_type(dtype));
}

std::string numbers_text(std::size_t count) {
  return fmt::format(R"(struct Arguments {{
  long long numbers[{0}];
  long long* out;
}};
extern "C" __global__ void write(const Arguments a) {{
  for (int i = 0; i < {0}; ++i) {{
    a.out[i] = a.numbers[i];
  }}
}}
)",
                     count);
}

void register_creation(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    kernels.add(
        def, {.name = "generated values", .supports = [](Op) { return Support{}; }, .plan = plan});
  };
  add(iota_def(), [device](const KernelContext& context) { return plan_iota(context, device); });
  add(dim_value_def(), [device](const KernelContext& context) {
    return plan_numbers(device, {context.size("dim")});
  });
  add(shape_of_def(), [device](const KernelContext& context) {
    return plan_numbers(device, context.in(0).shape());
  });
  add(linear_seed_def(), [device](const KernelContext&) {
    return [device](KernelContext& run) { device->fill(run.out().raw(), 0, run.out().bytes()); };
  });
}

}  // namespace antichain::cuda
