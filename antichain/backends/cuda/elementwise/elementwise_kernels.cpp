#include "antichain/backends/cuda/elementwise/elementwise_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/backends/cuda/rows/fused_rows.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostRunsInFlight = 4, kBytesInFlight = 64;  // of a thread
constexpr std::int64_t kOpsInFlight = 16;       // with more, computing hides what memory takes
constexpr std::int64_t kManyThreads = 1 << 18;  // more than a GPU has room for at a time
// Below, multiprocessors would have nothing to do.
constexpr std::int64_t kFewestBusyThreads = 1 << 15;

// The ops of a kernel in order, with names for the values that they read.
class Body {
 public:
  explicit Body(Op op) {
    if (op.regions().empty()) {
      ops_ = {op};
      for (int i = 0; i < op.num_inputs(); ++i) {
        params_.push_back(op.input(i).id());
      }
      results_ = {op.output().id()};
      return;
    }
    contract_ = op.attrs().get<bool>("contract");
    Graph& graph = op.graph();
    const RegionInfo& body = graph.region(op.regions()[0]);
    results_ = body.results;
    for (const OpId id : body.ops) {
      if (!is_fusible_product(graph.op(id).def())) {
        ops_.push_back(graph.op(id));
      }
    }
    if (&op.def() == &fused_def()) {
      params_ = body.params;
      return;
    }
    for (const std::size_t input : element_inputs(op)) {
      params_.push_back(body.params[input]);
    }
    params_.push_back(product_of(op).output().id());
  }

  // Statements that compute every value from x0, x1, ..., and put results into r0, r1, ...
  std::string code(Graph& graph) const {
    ValueNames names;
    // An op may read one value twice.
    for (std::size_t i = 0; i < params_.size(); ++i) {
      names.try_emplace(params_[i], fmt::format("x{}", i));
    }
    std::string text;
    for (const Op op : ops_) {
      const std::string name = fmt::format("v{}", names.size());
      text += fmt::format("      const auto {} = {};\n", name, element_code(op, names, contract_));
      names.emplace(op.output().id(), name);
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      text += fmt::format("      r{}.at[e] = stored<{}>({});\n", i,
                          storage_type(graph.var(results_[i]).dtype()), names.at(results_[i]));
    }
    return text;
  }

 private:
  std::vector<Op> ops_;
  std::vector<VarId> params_, results_;
  bool contract_ = false;
};

// How many elements a thread computes at once: as many as it can read and write by one instruction
// each, if there are enough for all threads of the GPU. What is repeated, a number per channel for
// example, comes from a cache and may take two.
std::int64_t run_length(const KernelContext& context, const StridedLoop& loop) {
  std::int64_t longest = kLongestRun;
  const auto fit = [&](DType dtype, std::int64_t bytes = kRunBytes) {
    longest = std::min(longest, bytes / static_cast<std::int64_t>(size_of(dtype)));
  };
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    if (loop.kind_of(n) != StridedLoop::Kind::number) {
      const Tensor& input = *context.inputs[n];
      fit(input.dtype(), input.numel() < loop.count ? 2 * kRunBytes : kRunBytes);
    }
  }
  for (const Tensor* output : context.outputs) {
    fit(output->dtype());
  }
  while (longest > 1 && (!loop.has_runs(longest) || loop.count / longest < kFewestBusyThreads)) {
    longest /= 2;
  }
  return longest;
}

// How many runs a thread has in flight: more hide the time that memory takes to answer, where there
// are enough for all threads that the GPU has room for, and registers.
std::int64_t runs_in_flight(const KernelContext& context, const StridedLoop& loop,
                            std::int64_t length) {
  std::int64_t bytes = 0, runs = kMostRunsInFlight;
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    const bool is_number = loop.kind_of(n) == StridedLoop::Kind::number;
    bytes +=
        is_number ? 0 : length * static_cast<std::int64_t>(size_of(context.inputs[n]->dtype()));
  }
  const std::int64_t ops = context.op.regions().empty()
                               ? 1
                               : std::ssize(context.op.graph().region(context.op.regions()[0]).ops);
  while (runs > 1 && (runs * bytes > kBytesInFlight || runs * ops > kOpsInFlight ||
                      loop.count / length < kManyThreads)) {
    runs /= 2;
  }
  return length > 1 ? runs : 1;
}

// What the elements of a run are computed from: as members of a struct, how they are loaded, and
// what they are called in the loop over elements.
struct Loads {
  std::string members, before, inside;
};
Loads loads_of(const KernelContext& context, const StridedLoop& loop, std::int64_t length) {
  Loads loads;
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    const std::string_view type = storage_type(context.inputs[n]->dtype());
    const std::string place = loop.place_code(n);
    const bool is_same = loop.kind_of(n) == StridedLoop::Kind::number || loop.inner_stride(n) == 0;
    const std::string kind = is_same ? std::string(type) : fmt::format("Run<{}, kLength>", type);
    loads.members += fmt::format("  {} d{};\n", kind, n);
    loads.inside += fmt::format("      const auto x{0} = load<{1}>(o.d{0}{2});\n", n, type,
                                is_same ? "" : ".at[e]");
    if (is_same) {
      loads.before += fmt::format("  o.d{0} = ((const {1}*)a.in[{0}])[{2}];\n", n, type, place);
    } else if (loop.is_run(n, length)) {
      loads.before +=
          fmt::format("  o.d{0} = load_run<{1}, kLength>(a.in[{0}], {2});\n", n, type, place);
    } else {
      loads.before += fmt::format(
          "  const {1}* const s{0} = (const {1}*)a.in[{0}] + ({2});\n"
          "#pragma unroll\n  for (int e = 0; e < kLength; ++e) {{\n"
          "    o.d{0}.at[e] = s{0}[e * a.strides[{0}][{3}]];\n  }}\n",
          n, type, place, loop.sizes.size() - 1);
    }
  }
  return loads;
}

std::string kernel_text(const KernelContext& context, const StridedLoop& loop,
                        std::int64_t length) {
  std::string text = "#include \"antichain/backends/cuda/device/element.cuh\"\n";
  text += "using namespace antichain;\nusing namespace antichain::device;\n";
  text += fmt::format("using Index = {};\n", loop.count < kMostOf32Bits ? "unsigned" : "long long");
  text += "struct Arguments {\n" + loop.members_code();
  text += fmt::format("  long long runs;\n  const void* in[{}];\n  void* out[{}];\n}};\n",
                      std::max(context.num_inputs(), 1), context.num_outputs());
  // A run of elements from i on.
  const Loads loads = loads_of(context, loop, length);
  text += "template <int kLength>\nstruct Operands {\n" + loads.members + "};\n";
  text += "template <int kLength>\nOperands<kLength> operands(const Arguments& a, Index i) {\n";
  text += "  Operands<kLength> o;\n" + loop.positions_code() + loads.before + "  return o;\n}\n";
  text += "template <int kLength>\n";
  text += "void compute(const Arguments& a, Index i, const Operands<kLength>& o) {\n";
  std::string stores;
  for (std::size_t n = 0; n < context.outputs.size(); ++n) {
    text += fmt::format("  Run<{}, kLength> r{};\n", storage_type(context.outputs[n]->dtype()), n);
    stores += fmt::format("  store_run(a.out[{0}], i, r{0});\n", n);
  }
  text += "#pragma unroll\n  for (int e = 0; e < kLength; ++e) {\n" + loads.inside;
  text += Body(context.op).code(context.op.graph()) + "  }\n" + stores + "}\n";
  // All operands in flight are loaded before anything is stored: an output may be the memory of an
  // input, element for element.
  text +=
      fmt::format(R"(extern "C" __global__ void elementwise(const __grid_constant__ Arguments a) {{
  const Index step = Index(gridDim.x) * blockDim.x;
  const Index thread = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index runs = Index(a.runs);
  for (Index n = thread; {0} > 1 && n < runs; n += {1} * step) {{
    Operands<{0}> o[{1}];
#pragma unroll
    for (int k = 0; k < {1}; ++k) {{
      if (k == 0 || n + k * step < runs) {{
        o[k] = operands<{0}>(a, (n + k * step) * {0});
      }}
    }}
#pragma unroll
    for (int k = 0; k < {1}; ++k) {{
      if (k == 0 || n + k * step < runs) {{
        compute<{0}>(a, (n + k * step) * {0}, o[k]);
      }}
    }}
  }}
  for (Index n = runs * {0} + thread; n < Index(a.count); n += step) {{
    compute<1>(a, n, operands<1>(a, n));
  }}
}}
)",
                  length, runs_in_flight(context, loop, length));
  return text;
}

// Whether a fused op has more than one shape.
bool walks_rows(Op op) {
  Graph& graph = op.graph();
  const auto is_whole = [&](OpId id) {
    const Op part = graph.op(id);
    return &part.def() == &constant_def() ||
           (part.output().shape() == op.output().shape() && !reduces_rows(part));
  };
  return &op.def() == &fused_def() &&
         !std::ranges::all_of(graph.region(op.regions()[0]).ops, is_whole);
}

KernelFunction plan_elementwise(const KernelContext& context, const Context& device) {
  return walks_rows(context.op) ? plan_rows(context, device) : plan_elements(context, device);
}

Support supports_elementwise(Op op) {
  return &op.def() == &fused_def() ? supports_rows(op) : Support{};
}

}  // namespace

std::string elementwise_code(const KernelContext& context) {
  const StridedLoop loop(context.out().shape(), context.inputs);
  return kernel_text(context, loop, run_length(context, loop));
}

std::vector<std::size_t> element_inputs(Op fused_product) {
  Graph& graph = fused_product.graph();
  const RegionInfo& body = graph.region(fused_product.regions()[0]);
  std::unordered_set<VarId> read(body.results.begin(), body.results.end());
  for (const OpId id : body.ops) {
    const Op op = graph.op(id);
    for (Var input : is_fusible_product(op.def()) ? std::vector<Var>() : op.inputs()) {
      read.insert(input.id());
    }
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < body.params.size(); ++i) {
    if (read.contains(body.params[i])) {
      inputs.push_back(i);
    }
  }
  return inputs;
}

KernelFunction plan_elements(const KernelContext& context, const Context& device) {
  const StridedLoop loop(context.out().shape(), context.inputs);
  const std::int64_t length = run_length(context, loop), count = loop.count;
  const std::int64_t per_thread = length * runs_in_flight(context, loop, length);
  std::vector<std::size_t> read_in_runs;
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    if (loop.is_run(n, length)) {
      read_in_runs.push_back(n);
    }
  }
  std::vector<std::int64_t> slots = loop.slots();
  const std::size_t runs = slots.size(), first_in = runs + 1;
  const std::size_t first_out = first_in + std::max<std::size_t>(context.inputs.size(), 1);
  slots.resize(first_out + context.outputs.size());
  const auto launch = std::make_shared<Launch>(device, kernel_text(context, loop, length),
                                               "elementwise", count, std::move(slots));
  return [=](KernelContext& run) {
    // Views may begin anywhere.
    const bool aligned =
        std::ranges::all_of(read_in_runs,
                            [&](std::size_t n) { return is_aligned(*run.inputs[n], length); }) &&
        std::ranges::all_of(run.outputs,
                            [&](const Tensor* output) { return is_aligned(*output, length); });
    const bool in_runs = length > 1 && aligned;
    launch->set(runs, in_runs ? count / length : std::int64_t{0});
    launch->set_threads(in_runs ? (count + per_thread - 1) / per_thread : count);
    launch->set_operands(first_in, first_out, run);
    launch->run();
  };
}

void register_elementwise(KernelTable& kernels, const Context& context) {
  for (const auto& family :
       {elementwise_unary_family(), elementwise_binary_family(), elementwise_gradient_family(),
        elementwise_other_family(), fusion_family()}) {
    for (const OpDef* def : family) {
      kernels.add(
          *def,
          {.name = "generated elementwise",
           .supports = supports_elementwise,
           .plan = [context](const KernelContext& seen) { return plan_elementwise(seen, context); },
           .strided_inputs = true,
           .in_place = true});
    }
  }
}

}  // namespace antichain::cuda
