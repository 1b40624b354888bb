#include "antichain/backends/cuda/random_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/base/random_functions.h"
#include "antichain/ops/random.h"

namespace antichain::cuda {

namespace {

// A kernel that sets element i of the output to `draw`, C++ that may read `key` and `a.more`.
std::string draw_text(DType dtype, const std::string& draw) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/base/random_functions.h"
using namespace antichain;
using namespace antichain::device;
struct Arguments {{
  long long count, stream, more;
  const long long* key;
  {0}* out;
}};
extern "C" __global__ void draw(const Arguments a) {{
  const RandomStream key = {{a.key[0], a.key[1], a.stream}};
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
    a.out[i] = {1};
  }}
}}
)",
                     storage_type(dtype), draw);
}

KernelFunction plan_draw(const Context& device, const KernelContext& context,
                         const std::string& draw, std::int64_t more) {
  const std::int64_t count = context.out().numel();
  const auto launch = std::make_shared<Launch>(
      device, draw_text(context.out().dtype(), draw), "draw", count,
      std::vector<std::int64_t>{count, context.attr<std::int64_t>("stream"), more, 0, 0});
  return [launch](KernelContext& run) {
    launch->set(3, run.in(0).raw());
    launch->set(4, run.out().raw());
    launch->run();
  };
}

KernelFunction plan_floats(const Context& device, const KernelContext& context,
                           std::string_view distribution) {
  const DType dtype = context.out().dtype();
  return plan_draw(device, context,
                   fmt::format("stored<{}>({}_{}(key, i))", storage_type(dtype), distribution,
                               dtype == f64 ? "f64" : "f32"),
                   0);
}

KernelFunction plan_fold_in(const Context& device) {
  const auto launch =
      std::make_shared<Launch>(device, R"(#include "antichain/base/random_functions.h"
struct Arguments {
  const long long *key, *number;
  long long* out;
};
extern "C" __global__ void fold_in(const Arguments a) {
  const antichain::RandomStream folded = antichain::folded_in({a.key[0], a.key[1]}, a.number[0]);
  a.out[0] = folded.seed;
  a.out[1] = folded.run;
}
)",
                               "fold_in", 1, dim3(1), std::vector<std::int64_t>(3));
  return [launch](KernelContext& run) {
    launch->set(0, run.in(0).raw());
    launch->set(1, run.in(1).raw());
    launch->set(2, run.out().raw());
    launch->run();
  };
}

}  // namespace

void register_random(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    kernels.add(def, {.name = "philox", .supports = [](Op) { return Support{}; }, .plan = plan});
  };
  add(random_uniform_def(),
      [device](const KernelContext& context) { return plan_floats(device, context, "uniform"); });
  add(random_normal_def(),
      [device](const KernelContext& context) { return plan_floats(device, context, "normal"); });
  add(random_bernoulli_def(), [device](const KernelContext& context) {
    const std::uint64_t threshold = bernoulli_threshold(context.attr<double>("probability"));
    return plan_draw(device, context, "bernoulli(key, i, (unsigned long long)a.more)",
                     static_cast<std::int64_t>(threshold));
  });
  add(fold_in_def(), [device](const KernelContext&) { return plan_fold_in(device); });
}

}  // namespace antichain::cuda
