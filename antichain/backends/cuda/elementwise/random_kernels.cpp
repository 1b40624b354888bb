#include "antichain/backends/cuda/elementwise/random_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/base/random_functions.h"
#include "antichain/ops/state/random.h"

namespace antichain::cuda {

namespace {

constexpr std::size_t kKeys = 4, kOut = 5;  // slots of a draw
constexpr std::int64_t kNumbersOfKey = 2;
constexpr int kBits = 64;  // of what orders a permutation

// C++ for element i of a draw; may read `key` and `a.more`.
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
  const std::int64_t keys = std::max<std::int64_t>(context.in(0).numel() / kNumbersOfKey, 1);
  return Launch(device, draw_text(draw, context.out().dtype()), "draw", count,
                {count, count / keys, context.attr<std::int64_t>("stream"), more, 0, 0});
}

KernelFunction plan_draw(const Context& device, const KernelContext& context, Draw draw,
                         std::int64_t more = 0) {
  const auto launch = std::make_shared<Launch>(make_draw(device, context, draw, more));
  return [launch](KernelContext& run) {
    launch->set(kKeys, run.in(0).raw());
    launch->set(kOut, run.out().raw());
    launch->run();
  };
}

// The numbers in the order of random bits.
KernelFunction plan_permutation(const Context& device, const KernelContext& context) {
  const auto launch = std::make_shared<Launch>(make_draw(device, context, Draw::bits));
  const auto sort = std::make_shared<RadixSort>(device, context.out().numel());
  return [device, launch, sort](KernelContext& run) {
    launch->set(kKeys, run.in(0).raw());
    launch->set(kOut, sort->fresh_keys());
    launch->run();
    sort->run(kBits);
    device->copy(run.out().raw(), sort->order(), run.out().bytes(), cudaMemcpyDeviceToDevice);
  };
}

// One key or number of several is the same for all.
KernelFunction plan_fold_in(const Context& device, const KernelContext& context) {
  constexpr std::size_t kFirstOperand = 3;
  const std::int64_t count = context.out().numel() / kNumbersOfKey;
  const std::int64_t key_step = context.in(0).numel() > kNumbersOfKey ? kNumbersOfKey : 0;
  const std::int64_t number_step = context.in(1).numel() > 1 ? 1 : 0;
  const auto launch =
      std::make_shared<Launch>(device, fold_in_text(), "fold_in", count,
                               std::vector<std::int64_t>{count, key_step, number_step, 0, 0, 0});
  return [launch](KernelContext& run) {
    launch->set_operands(kFirstOperand, kFirstOperand + 2, run);
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
  long long count, of_one_key, stream, more;
  const long long* keys;
  {0}* out;
}};
extern "C" __global__ void draw(const Arguments a) {{
  const bool is_list = a.of_one_key < a.count;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < a.count; at += step) {{
    const long long which = is_list ? at / a.of_one_key : 0, i = at - which * a.of_one_key;
    const RandomStream key = {{a.keys[2 * which], a.keys[2 * which + 1], a.stream}};
    a.out[at] = {1};
  }}
}}
)",
                     storage_type(dtype), element(draw, dtype));
}

std::string fold_in_text() {
  return R"(#include "antichain/base/random_functions.h"
struct Arguments {
  long long count, key_step, number_step;
  const long long *keys, *numbers;
  long long* out;
};
extern "C" __global__ void fold_in(const Arguments a) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {
    const long long* const key = a.keys + i * a.key_step;
    const antichain::RandomStream folded =
        antichain::folded_in({key[0], key[1]}, a.numbers[i * a.number_step]);
    a.out[2 * i] = folded.seed;
    a.out[2 * i + 1] = folded.run;
  }
}
)";
}

void register_random(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan) {
    const auto supports = [](Op) { return Support{}; };
    kernels.add(def, {.name = "philox", .supports = supports, .plan = plan});
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
  add(fold_in_def(),
      [device](const KernelContext& context) { return plan_fold_in(device, context); });
}

}  // namespace antichain::cuda
