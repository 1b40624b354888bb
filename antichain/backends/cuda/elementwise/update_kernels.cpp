#include "antichain/backends/cuda/elementwise/update_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain::cuda {

namespace {

// "rmsprop_momentum_update" is rules::RmspropMomentum.
std::string rule_name(const std::string& op) {
  return camel_case(op.substr(0, op.rfind("_update")));
}

constexpr std::int64_t kUpdateThreads = 256, kTogether = 4;  // elements that a thread has in flight
constexpr std::int64_t kUpdatesPerBlock = 2 * kUpdateThreads * kTogether;  // elements

// Members of `Arguments` before the parameters, and of each of those.
constexpr std::size_t kUpdateHeadSlots = 2;
std::size_t parameter_slots(std::size_t states) { return 3 + 2 * states; }

// Whether to do anything is read on the GPU: the host waits for nothing. Every block belongs to one
// parameter. All elements that a thread has in flight are loaded before any is stored.
std::string update_text(const std::string& rule, DType dtype, std::size_t states,
                        std::size_t parameters) {
  const std::string_view first = storage_type(dtype), other = storage_type(buffer_dtype(dtype));
  std::string declarations, loads, names, stores;
  for (std::size_t i = 0; i < states; ++i) {
    const std::string_view type = i == 0 ? first : other;
    declarations += fmt::format("    Real s{}[{}];\n", i, kTogether);
    loads += fmt::format("        s{0}[n] = load<{1}>(((const {1}*)p.before[{0}])[e]);\n", i, type);
    names += fmt::format(", s{}[n]", i);
    stores += fmt::format("        (({1}*)p.after[{0}])[e] = stored<{1}>(s{0}[n]);\n", i, type);
  }
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/ops/state/update_rules.h"
using namespace antichain;
using namespace antichain::device;
using Real = Compute<{0}>;
struct Parameter {{
  long long first_block, count;
  const {0}* gradient;
  const void* before[{1}];
  void* after[{1}];
}};
struct Arguments {{
  const double* numbers;
  const bool* when;
  Parameter parameters[{2}];
}};
extern "C" __global__ void update(const __grid_constant__ Arguments a) {{
  const rules::Applied<rules::{3}, Real> rule(a.numbers);
  const bool now = *a.when;
  int at = 0;
  while (at + 1 < {2} && a.parameters[at + 1].first_block <= blockIdx.x) {{
    ++at;
  }}
  const Parameter& p = a.parameters[at];
  const long long begin = (blockIdx.x - p.first_block) * {4}LL;
  const long long end = begin + {4} < p.count ? begin + {4} : p.count;
  for (long long i = begin + threadIdx.x; i < end; i += {5} * blockDim.x) {{
    Real g[{5}];
{6}#pragma unroll
    for (int n = 0; n < {5}; ++n) {{
      const long long e = i + n * blockDim.x;
      if (e < end) {{
        g[n] = load<{0}>(p.gradient[e]);
{7}      }}
    }}
#pragma unroll
    for (int n = 0; n < {5}; ++n) {{
      const long long e = i + n * blockDim.x;
      if (e < end) {{
        if (now) {{
          rule(g[n]{8});
        }}
{9}      }}
    }}
  }}
}}
)",
                     first, states, parameters, rule, kUpdatesPerBlock, kTogether, declarations,
                     loads, names, stores);
}

// The parameters of an update that one launch changes.
struct UpdateLaunch {
  std::size_t first, count;
  Launch launch;
};

KernelFunction plan_updates(const KernelContext& context, const Context& device) {
  const std::vector<std::vector<std::string>> states = updated_states(*context.attrs);
  const std::size_t each = parameter_slots(states[0].size());
  const std::size_t most = (Launch::kMostSlots - kUpdateHeadSlots) / each;
  const auto launches = std::make_shared<std::vector<UpdateLaunch>>();
  for (std::size_t first = 0; first < states.size(); first += most) {
    const std::size_t count = std::min(most, states.size() - first);
    std::vector<std::int64_t> slots(kUpdateHeadSlots + count * each);
    std::int64_t blocks = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t elements = context.inputs[first + i]->numel();
      slots[kUpdateHeadSlots + i * each] = blocks;
      slots[kUpdateHeadSlots + i * each + 1] = elements;
      blocks += (elements + kUpdatesPerBlock - 1) / kUpdatesPerBlock;
    }
    const std::string text = update_text(rule_name(context.op.def().name), context.in(0).dtype(),
                                         states[0].size(), count);
    launches->push_back({first, count,
                         Launch(device, text, "update", blocks,
                                dim3(static_cast<unsigned>(kUpdateThreads)), std::move(slots))});
  }
  return [launches, states, each](KernelContext& run) {
    for (UpdateLaunch& part : *launches) {
      part.launch.set(0, run.inputs[states.size()]->raw());
      part.launch.set(1, run.inputs[states.size() + 1]->raw());
      for (std::size_t i = 0; i < part.count; ++i) {
        const std::vector<std::string>& own = states[part.first + i];
        const std::size_t slot = kUpdateHeadSlots + i * each + 2;
        part.launch.set(slot, run.inputs[part.first + i]->raw());
        // The kernel is started when the memory of all is known; the stream keeps the order.
        const auto note = [&](const UpdatedMemory& memory) {
          for (std::size_t n = 0; n < own.size(); ++n) {
            part.launch.set(slot + 1 + n, memory.before[n]);
            part.launch.set(slot + 1 + own.size() + n, memory.after[n]);
          }
        };
        *run.outputs[part.first + i] = change_states(*run.states, own, note, *run.device);
      }
      part.launch.run();
    }
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

std::string update_code(const KernelContext& context) {
  const std::vector<std::vector<std::string>> states = updated_states(*context.attrs);
  return update_text(rule_name(context.op.def().name), context.in(0).dtype(), states[0].size(),
                     states.size());
}

void register_optimiser_steps(KernelTable& kernels, const Context& context) {
  for (const OpDef* def : update_family()) {
    kernels.add(
        *def,
        {.name = "generated step",
         .supports = [](Op) { return Support{}; },
         .plan = [context](const KernelContext& seen) { return plan_updates(seen, context); }});
  }
  kernels.add(add_update_def(),
              {.name = "generated step",
               .supports = [](Op) { return Support{}; },
               .plan = [context](const KernelContext& seen) { return plan_add(seen, context); }});
}

}  // namespace antichain::cuda
