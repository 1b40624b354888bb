#include "antichain/backends/cuda/update_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/ops/state_ops.h"
#include "antichain/ops/update_ops.h"

namespace antichain::cuda {

namespace {

// "rmsprop_momentum_update" is rules::RmspropMomentum.
std::string rule_name(const std::string& op) {
  return camel_case(op.substr(0, op.rfind("_update")));
}

// Whether to do anything is read on the GPU: the host waits for nothing.
std::string update_text(const std::string& rule, DType dtype, std::size_t states) {
  const std::string_view first = storage_type(dtype), other = storage_type(buffer_dtype(dtype));
  std::string loads, names, stores;
  for (std::size_t i = 0; i < states; ++i) {
    const std::string_view type = i == 0 ? first : other;
    loads += fmt::format("    Real s{0} = load<{1}>(((const {1}*)a.before[{0}])[i]);\n", i, type);
    names += fmt::format(", s{}", i);
    stores += fmt::format("    (({1}*)a.after[{0}])[i] = stored<{1}>(s{0});\n", i, type);
  }
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/ops/update_rules.h"
using namespace antichain;
using namespace antichain::device;
using Real = Compute<{0}>;
struct Arguments {{
  long long count;
  const {0}* gradient;
  const double* numbers;
  const bool* when;
  const void* before[{1}];
  void* after[{1}];
}};
extern "C" __global__ void update(const Arguments a) {{
  const rules::Applied<rules::{2}, Real> rule(a.numbers);
  const bool now = *a.when;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
{3}    if (now) {{
      rule(load<{0}>(a.gradient[i]){4});
    }}
{5}  }}
}}
)",
                     first, states, rule, loads, names, stores);
}

std::vector<std::string> states_in(const Attrs& attrs) {
  std::vector<std::string> states;
  for (const auto& [name, value] : attrs.entries()) {
    states.push_back(std::get<std::string>(value));
  }
  return states;
}

KernelFunction plan(const KernelContext& context, const Context& device) {
  const std::vector<std::string> states = states_in(*context.attrs);
  const std::int64_t count = context.in(0).numel();
  const auto launch = std::make_shared<Launch>(
      device, update_text(rule_name(context.op.def().name), context.in(0).dtype(), states.size()),
      "update", count, std::vector<std::int64_t>(4 + 2 * states.size(), count));
  return [launch, states](KernelContext& run) {
    for (std::size_t i = 0; i < 3; ++i) {
      launch->set(1 + i, run.inputs[i]->raw());
    }
    const auto change = [&](const UpdatedMemory& memory) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        launch->set(4 + i, memory.before[i]);
        launch->set(4 + states.size() + i, memory.after[i]);
      }
      launch->run();
    };
    run.out() = change_states(*run.states, states, change, *run.device);
  };
}

KernelFunction plan_add(const KernelContext& context, const Context& device) {
  const std::int64_t count = context.in(0).numel();
  const std::string text = fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain;
using namespace antichain::device;
struct Arguments {{
  long long count;
  const {0} *before, *change;
  {0}* after;
}};
extern "C" __global__ void add(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
    a.after[i] = stored<{0}>(functors::Add()(load<{0}>(a.before[i]), load<{0}>(a.change[i])));
  }}
}}
)",
                                       storage_type(context.in(0).dtype()));
  const auto launch =
      std::make_shared<Launch>(device, text, "add", count, std::vector<std::int64_t>(4, count));
  return [launch](KernelContext& run) {
    const auto add = [&](const Tensor& before, const Tensor& after) {
      launch->set(1, before.raw());
      launch->set(2, run.in(0).raw());
      launch->set(3, after.raw());
      launch->run();
    };
    run.out() = run.states->update(run.attr<std::string>("state"), add, *run.device);
  };
}

}  // namespace

void register_optimiser_steps(KernelTable& kernels, const Context& context) {
  for (const OpDef* def : update_family()) {
    kernels.add(*def,
                {.name = "generated step",
                 .supports = [](Op) { return Support{}; },
                 .plan = [context](const KernelContext& seen) { return plan(seen, context); }});
  }
  kernels.add(add_update_def(),
              {.name = "generated step",
               .supports = [](Op) { return Support{}; },
               .plan = [context](const KernelContext& seen) { return plan_add(seen, context); }});
}

}  // namespace antichain::cuda
