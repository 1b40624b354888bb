#include "antichain/backends/cuda/elementwise/random_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/base/random_functions.h"
#include "antichain/ops/state/random.h"

namespace antichain::cuda {

namespace {

constexpr std::size_t kKey = 3, kOut = 4;  // slots of a draw
constexpr int kBits = 64;                  // of what orders a permutation

// C++ for element i; may read `key` and `a.more`.
std::string element(Draw draw, DType dtype) {
  const char* const width = dtype == f64 ? "f64" : "f32";
  switch (draw) {
    case Draw::uniform:
      return fmt::format("stored<{}>(uniform_{}(key, i))", storage_type(dtype), width);
    case Draw::normal:
      return fmt::format("stored<{}>(normal_{}(key, i))", storage_type(dtype), width);
    case Draw::bernoulli: return "bernoulli(key, i, (unsigned long long)a.more)";
    case Draw::bits: break;
  }
  return "(long long)random_bits(key, i)";
}

Launch make_draw(const Context& device, const KernelContext& context, Draw draw,
                 std::int64_t more = 0) {
  const std::int64_t count = context.out().numel();
  return Launch(device, draw_text(draw, context.out().dtype()), "draw", count,
                {count, context.attr<std::int64_t>("stream"), more, 0, 0});
}

KernelFunction plan_draw(const Context& device, const KernelContext& context, Draw draw,
                         std::int64_t more = 0) {
  const auto launch = std::make_shared<Launch>(make_draw(device, context, draw, more));
  return [launch](KernelContext& run) {
    launch->set(kKey, run.in(0).raw());
    launch->set(kOut, run.out().raw());
    launch->run();
  };
}

// The numbers in the order of random bits.
KernelFunction plan_permutation(const Context& device, const KernelContext& context) {
  const auto launch = std::make_shared<Launch>(make_draw(device, context, Draw::bits));
  const auto sort = std::make_shared<RadixSort>(device, context.out().numel());
  return [device, launch, sort](KernelContext& run) {
    launch->set(kKey, run.in(0).raw());
    launch->set(kOut, sort->fresh_keys());
    launch->run();
    sort->run(kBits);
    device->copy(run.out().raw(), sort->order(), run.out().bytes(), cudaMemcpyDeviceToDevice);
  };
}

Support has_one_key(Op op) {
  const bool has_list =
      op.input(0).rank() != 1 || (op.num_inputs() == 2 && op.input(1).rank() != 0);
  return has_list ? Support::no("it takes one key, not a list of keys") : Support{};
}

KernelFunction plan_fold_in(const Context& device) {
  const auto launch = std::make_shared<Launch>(device, fold_in_text(), "fold_in", 1, dim3(1),
                                               std::vector<std::int64_t>(3));
  return [launch](KernelContext& run) {
    launch->set_operands(0, 2, run);
    launch->run();
  };
}

}  // namespace

std::string draw_text(Draw draw, DType dtype) {
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
                     storage_type(dtype), element(draw, dtype));
}

std::string fold_in_text() {
  return R"(#include "antichain/base/random_functions.h"
struct Arguments {
  const long long *key, *number;
  long long* out;
};
extern "C" __global__ void fold_in(const Arguments a) {
  const antichain::RandomStream folded = antichain::folded_in({a.key[0], a.key[1]}, a.number[0]);
  a.out[0] = folded.seed;
  a.out[1] = folded.run;
}
)";
}

void register_random(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    kernels.add(def, {.name = "philox", .supports = has_one_key, .plan = plan});
  };
  add(random_uniform_def(),
      [device](const KernelContext& context) { return plan_draw(device, context, Draw::uniform); });
  add(random_normal_def(),
      [device](const KernelContext& context) { return plan_draw(device, context, Draw::normal); });
  add(random_bernoulli_def(), [device](const KernelContext& context) {
    const std::uint64_t threshold = bernoulli_threshold(context.attr<double>("probability"));
    return plan_draw(device, context, Draw::bernoulli, static_cast<std::int64_t>(threshold));
  });
  add(random_permutation_def(),
      [device](const KernelContext& context) { return plan_permutation(device, context); });
  add(fold_in_def(), [device](const KernelContext&) { return plan_fold_in(device); });
}

}  // namespace antichain::cuda
