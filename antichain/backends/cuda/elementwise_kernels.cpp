#include "antichain/backends/cuda/elementwise_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/fused_rows.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/fused.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostOf32Bits = std::int64_t{1} << 31;

// The ops of a kernel in order, with names for the values that they read.
class Body {
 public:
  explicit Body(Op op) {
    if (&op.def() != &fused_def()) {
      ops_ = {op};
      for (int i = 0; i < op.num_inputs(); ++i) {
        params_.push_back(op.input(i).id());
      }
      results_ = {op.output().id()};
      return;
    }
    Graph& graph = op.graph();
    const RegionInfo& body = graph.region(op.regions()[0]);
    for (const OpId id : body.ops) {
      ops_.push_back(graph.op(id));
    }
    params_ = body.params;
    results_ = body.results;
  }

  // Statements that compute every value from in0, in1, ..., and store results to out0, ...
  std::string code(Graph& graph) const {
    std::unordered_map<VarId, std::string> names;
    // An op may read one value twice.
    for (std::size_t i = 0; i < params_.size(); ++i) {
      names.try_emplace(params_[i], fmt::format("x{}", i));
    }
    std::string text;
    for (std::size_t n = 0; n < ops_.size(); ++n) {
      const Op op = ops_[n];
      std::string value;
      if (&op.def() == &constant_def()) {
        value = number_code(op.attrs().get<Tensor>("value"));
      } else {
        std::vector<std::string> operands;
        for (Var input : op.inputs()) {
          operands.push_back(names.at(input.id()));
        }
        value = element_code(op, operands);
      }
      text += fmt::format("    const auto v{} = {};\n", n, value);
      names.emplace(op.output().id(), fmt::format("v{}", n));
    }
    // After all loads: an output may be the memory of an input, element for element.
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::string_view type = storage_type(graph.var(results_[i]).dtype());
      text += fmt::format("    (({}*)a.out[{}])[i] = stored<{}>({});\n", type, i, type,
                          names.at(results_[i]));
    }
    return text;
  }

 private:
  std::vector<Op> ops_;
  std::vector<VarId> params_, results_;
};

std::string kernel_text(const KernelContext& context, const StridedLoop& loop) {
  std::string text = "#include \"antichain/backends/cuda/device/element.cuh\"\n";
  text += "using namespace antichain;\nusing namespace antichain::device;\n";
  text += fmt::format("using Index = {};\n", loop.count < kMostOf32Bits ? "unsigned" : "long long");
  text += "struct Arguments {\n" + loop.members_code();
  text += fmt::format("  const void* in[{}];\n  void* out[{}];\n}};\n",
                      std::max(context.num_inputs(), 1), context.num_outputs());
  text += "extern \"C\" __global__ void elementwise(const Arguments a) {\n";
  text += "  const long long step = (long long)gridDim.x * blockDim.x;\n";
  text +=
      "  for (long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x; n < a.count; n += "
      "step) {\n    const Index i = Index(n);\n";
  text += loop.positions_code();
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    const std::string_view type = storage_type(context.inputs[n]->dtype());
    text += fmt::format("    const auto x{} = load<{}>(((const {}*)a.in[{}])[{}]);\n", n, type,
                        type, n, loop.place_code(n));
  }
  return text + Body(context.op).code(context.op.graph()) + "  }\n}\n";
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

KernelFunction plan(const KernelContext& context, const Context& device) {
  if (walks_rows(context.op)) {
    return plan_rows(context, device);
  }
  const StridedLoop loop(context.out().shape(), context.inputs);
  std::vector<std::int64_t> slots = loop.slots();
  const std::size_t first_in = slots.size();
  const std::size_t first_out = first_in + std::max<std::size_t>(context.inputs.size(), 1);
  slots.resize(first_out + context.outputs.size());
  const auto launch = std::make_shared<Launch>(device, kernel_text(context, loop), "elementwise",
                                               loop.count, std::move(slots));
  return [launch, first_in, first_out](KernelContext& run) {
    launch->set_operands(first_in, first_out, run);
    launch->run();
  };
}

Support supports(Op op) { return &op.def() == &fused_def() ? supports_rows(op) : Support{}; }

}  // namespace

std::string elementwise_code(const KernelContext& context) {
  return kernel_text(context, StridedLoop(context.out().shape(), context.inputs));
}

void register_elementwise(KernelTable& kernels, const Context& context) {
  for (const auto& family :
       {elementwise_unary_family(), elementwise_binary_family(), elementwise_gradient_family(),
        elementwise_other_family(), fusion_family()}) {
    for (const OpDef* def : family) {
      kernels.add(*def,
                  {.name = "generated elementwise",
                   .supports = supports,
                   .plan = [context](const KernelContext& seen) { return plan(seen, context); },
                   .strided_inputs = true,
                   .in_place = true});
    }
  }
}

}  // namespace antichain::cuda
