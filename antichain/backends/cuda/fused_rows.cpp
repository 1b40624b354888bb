#include "antichain/backends/cuda/fused_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "antichain/backends/cuda/block_split.h"
#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/fold_names.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/fused.h"

namespace antichain::cuda {

namespace {

// Writes the kernel of one fused op.
class RowWriter {
 public:
  RowWriter(const KernelContext& context, const StridedLoop& loop)
      : context_(context),
        loop_(loop),
        graph_(context.op.graph()),
        body_(graph_.region(context.op.regions()[0])),
        shape_(fused_shape(graph_, context.op.regions()[0])) {
    for (std::size_t i = 0; i < body_.params.size(); ++i) {
      names_.emplace(body_.params[i], fmt::format("x{}", i));
    }
    for (const OpId id : body_.ops) {
      const Op op = graph_.op(id);
      names_.emplace(op.output().id(), fmt::format("v{}", names_.size()));
      int round = 0;
      for (Var input : op.inputs()) {
        const auto found = rounds_.find(input.id());
        round = std::max(round, found == rounds_.end() ? 0 : found->second);
      }
      // A value of a row is there after the walk of its round.
      rounds_.emplace(op.output().id(), round + (reduces_rows(op) ? 1 : 0));
      last_round_ = std::max(last_round_, rounds_.at(op.output().id()));
    }
  }

  // Whether several blocks can share a row: all of it is reduced in one walk, and nothing else of
  // it is asked for.
  bool can_split() const {
    return last_round_ == 1 && std::ranges::all_of(body_.results, [this](VarId result) {
             return is_of_row(graph_.var(result).producer());
           });
  }
  std::size_t num_folds() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(body_.ops, [this](OpId id) { return reduces_rows(graph_.op(id)); }));
  }

  // With `split`, a row has several blocks.
  std::string text(bool split) {
    split_ = split;
    std::string text = head() + row_loads();
    for (int round = 0; round <= last_round_; ++round) {
      text += row_values(round) + (round < last_round_ ? fold_walk(round) : result_walk());
    }
    return text + row_results() + "  }\n}\n";
  }

 private:
  bool is_number(Op op) const { return &op.def() == &constant_def(); }
  bool is_of_row(Op op) const {
    return !is_number(op) && (reduces_rows(op) || !(op.output().shape() == shape_.domain));
  }
  std::size_t param_index(VarId value) const {
    return static_cast<std::size_t>(std::ranges::find(body_.params, value) - body_.params.begin());
  }

  std::string head() const {
    std::string text = "#include \"antichain/backends/cuda/device/fold.cuh\"\n";
    text += "using namespace antichain;\nusing namespace antichain::device;\n";
    text += "using Index = long long;\nstruct Arguments {\n" + loop_.members_code();
    text +=
        "  long long rows, length, parts, part_length;\n  void* found;\n  unsigned* counters;\n";
    text += fmt::format("  const void* in[{}];\n  void* out[{}];\n}};\n",
                        std::max(context_.num_inputs(), 1), context_.num_outputs());
    text += "extern \"C\" __global__ void fused_rows(const Arguments a) {\n";
    text += "  __shared__ double shared_double[1024];\n";
    text += "  long long* const shared_integer = (long long*)shared_double;\n";
    if (split_) {
      text += "  const Index row = blockIdx.x / a.parts, part = blockIdx.x % a.parts;\n";
      text += "  const Index first = part * a.part_length, rest = a.length - first;\n";
      text += "  const Index last = first + (rest < a.part_length ? rest : a.part_length);\n  {\n";
      return text;
    }
    text += "  const Index first = 0, last = a.length;\n";
    text += "  for (Index row = blockIdx.x; row < a.rows; row += gridDim.x) {\n";
    return text;
  }

  // The statement that computes an op from names of other values.
  std::string statement(Op op) const {
    return fmt::format("    const auto {} = {};\n", names_.at(op.output().id()),
                       element_code(op, names_, context_.attr<bool>("contract")));
  }
  std::string load_of(std::size_t param) const {
    const std::string_view type = storage_type(context_.inputs[param]->dtype());
    return fmt::format("    const auto x{0} = load<{1}>(((const {1}*)a.in[{0}])[{2}]);\n", param,
                       type, loop_.place_code(param));
  }

  // Element-wise ops on rows, and numbers, that can be computed before the walk of a round: by
  // every thread.
  std::string row_values(int round) const {
    std::string text;
    for (const OpId id : body_.ops) {
      const Op op = graph_.op(id);
      const bool due = rounds_.at(op.output().id()) == round && !reduces_rows(op);
      if (due && (is_number(op) || is_of_row(op))) {
        text += statement(op);
      }
    }
    return text;
  }

  // Inputs that ops on rows read: they lie where the first element of the row does.
  std::string row_loads() {
    std::string loads;
    for (const OpId id : body_.ops) {
      const Op op = graph_.op(id);
      for (Var input : is_of_row(op) && !reduces_rows(op) ? op.inputs() : std::vector<Var>()) {
        const std::size_t param = param_index(input.id());
        if (param < body_.params.size() && row_params_.insert(param).second) {
          loads += load_of(param);
        }
      }
    }
    return loads.empty() ? loads
                         : "    const Index i = row * a.length;\n" + loop_.positions_code() + loads;
  }

  // What a walk over the row needs to know `values`: loads and element-wise ops, in order.
  std::string element_values(const std::unordered_set<VarId>& values) const {
    std::unordered_set<VarId> needed = values;
    std::string text;
    for (auto id = body_.ops.rbegin(); id != body_.ops.rend(); ++id) {
      const Op op = graph_.op(*id);
      if (needed.contains(op.output().id()) && !is_number(op) && !is_of_row(op)) {
        text.insert(0, statement(op));
        for (Var input : op.inputs()) {
          needed.insert(input.id());
        }
      }
    }
    std::string loads;
    for (std::size_t i = 0; i < body_.params.size(); ++i) {
      if (needed.contains(body_.params[i]) && !row_params_.contains(i)) {
        loads += load_of(i);
      }
    }
    return loads + text;
  }

  std::string walk(const std::string& inside) const {
    return "    for (Index r = first + threadIdx.x; r < last; r += blockDim.x) {\n"
           "    const Index i = row * a.length + r;\n" +
           loop_.positions_code() + inside + "    }\n";
  }

  std::string fold_walk(int round) const {
    std::string before, inside, joins, leaves, takes, after;
    std::unordered_set<VarId> reduced;
    std::size_t number = 0;
    for (const OpId id : body_.ops) {
      const Op op = graph_.op(id);
      if (!reduces_rows(op) || rounds_.at(op.output().id()) != round + 1) {
        continue;
      }
      const FoldName fold = *find_fold(op.def());
      const std::string &name = names_.at(op.output().id()), &x = names_.at(op.input(0).id());
      const std::string_view type = storage_type(op.output().dtype());
      const bool is_real = is_float(op.output().dtype());
      const char* const total = is_real ? "double" : "long long";
      reduced.insert(op.input(0).id());
      before += fmt::format("    {0} t{1} = {2}::none<{0}>();\n", total, name, fold.name);
      inside += fmt::format("    t{0} = {1}::join(t{0}, ({2}){3});\n", name, fold.name, total, x);
      joins += fmt::format("    t{0} = join_block<{1}>(t{0}, shared_{2});\n", name, fold.name,
                           is_real ? "double" : "integer");
      leaves += fmt::format("      (({0}*)a.found)[blockIdx.x * {1}LL + {2}] = t{3};\n", total,
                            num_folds(), number, name);
      takes += fmt::format(
          "    t{0} = {1}::none<{2}>();\n"
          "    for (Index p = threadIdx.x; p < a.parts; p += blockDim.x) {{\n"
          "      t{0} = {1}::join(t{0}, __ldcg((const {2}*)a.found + (row * a.parts + p) * {3} + "
          "{4}));\n    }}\n",
          name, fold.name, total, num_folds(), number);
      after += fmt::format("    const auto {0} = rounded<{1}>(Compute<{1}>(t{0}{2}));\n", name,
                           type, fold.averages ? " / (double)a.length" : "");
      ++number;
    }
    const std::string last_joins =
        split_ ? "    if (threadIdx.x == 0) {\n" + leaves +
                     "    }\n    if (!comes_last(a.counters + row, a.parts)) {\n      return;\n"
                     "    }\n" +
                     takes + joins
               : "";
    return before + walk(element_values(reduced) + inside) + joins + last_joins + after;
  }

  std::string result_walk() const {
    std::unordered_set<VarId> results;
    std::string stores;
    for (std::size_t i = 0; i < body_.results.size(); ++i) {
      const Op op = graph_.var(body_.results[i]).producer();
      if (!is_of_row(op)) {
        results.insert(body_.results[i]);
        const std::string_view type = storage_type(op.output().dtype());
        stores += fmt::format("    (({0}*)a.out[{1}])[i] = stored<{0}>({2});\n", type, i,
                              names_.at(body_.results[i]));
      }
    }
    return stores.empty() ? stores : walk(element_values(results) + stores);
  }

  // Behind the last walk, whose other threads may read what is written over.
  std::string row_results() const {
    std::string stores;
    for (std::size_t i = 0; i < body_.results.size(); ++i) {
      const Op op = graph_.var(body_.results[i]).producer();
      if (is_of_row(op)) {
        const std::string_view type = storage_type(op.output().dtype());
        stores += fmt::format("      (({0}*)a.out[{1}])[row] = stored<{0}>({2});\n", type, i,
                              names_.at(body_.results[i]));
      }
    }
    return stores.empty()
               ? stores
               : "    __syncthreads();\n    if (threadIdx.x == 0) {\n" + stores + "    }\n";
  }

  const KernelContext& context_;
  const StridedLoop& loop_;
  Graph& graph_;
  const RegionInfo& body_;
  FusedShape shape_;
  std::unordered_map<VarId, std::string> names_;
  std::unordered_map<VarId, int> rounds_;       // how many walks a value needs before it
  std::unordered_set<std::size_t> row_params_;  // inputs of rows, which are loaded before the walks
  int last_round_ = 0;
  bool split_ = false;
};

StridedLoop loop_of(const KernelContext& context) {
  Graph& graph = context.op.graph();
  const FusedShape shape = fused_shape(graph, context.op.regions()[0]);
  return StridedLoop(evaluate(shape.domain, *context.env), context.inputs);
}

}  // namespace

Support supports_rows(Op fused) {
  Graph& graph = fused.graph();
  for (const VarId result : graph.region(fused.regions()[0]).results) {
    if (graph.is_region_param(graph.var(result))) {
      return Support::no("a result that is no op's");
    }
  }
  return {};
}

std::string row_code(const KernelContext& context, bool split) {
  const StridedLoop loop = loop_of(context);
  RowWriter writer(context, loop);
  return writer.text(split && writer.can_split());
}

KernelFunction plan_rows(const KernelContext& context, const Context& device) {
  constexpr std::int64_t kMostBlocks = 1 << 16, kFewestThreads = 32, kMostThreads = 1024;
  const StridedLoop loop = loop_of(context);
  const FusedShape shape = fused_shape(context.op.graph(), context.op.regions()[0]);
  const std::int64_t rows = numel(evaluate(shape.rows, *context.env));
  const std::int64_t length = rows > 0 ? loop.count / rows : 0;
  for (const OpId id : context.op.graph().region(context.op.regions()[0]).ops) {
    const std::optional<FoldName> fold = find_fold(context.op.graph().op(id).def());
    require<ShapeError>(!fold || !fold->chooses || rows == 0 || length > 0,
                        "{}: there is no element to choose from", context.where);
  }
  const auto wanted = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  const std::int64_t threads = std::clamp(wanted, kFewestThreads, kMostThreads);
  RowWriter writer(context, loop);
  std::int64_t parts = writer.can_split() ? split_rows(rows, length, threads) : 1;
  const std::int64_t part_length = (length + parts - 1) / parts;
  parts = part_length > 0 ? (length + part_length - 1) / part_length : 1;
  std::shared_ptr<const PartialResults> found;
  std::vector<std::int64_t> slots = loop.slots();
  slots.insert(slots.end(), {rows, length, parts, part_length, 0, 0});
  const std::size_t first_in = slots.size();
  const std::size_t first_out = first_in + std::max<std::size_t>(context.inputs.size(), 1);
  slots.resize(first_out + context.outputs.size());
  const auto launch =
      std::make_shared<Launch>(device, writer.text(parts > 1), "fused_rows",
                               parts > 1 ? rows * parts : std::min(rows, kMostBlocks),
                               dim3(static_cast<unsigned>(threads)), std::move(slots));
  if (parts > 1) {
    const auto folds = static_cast<std::int64_t>(writer.num_folds());
    found = std::make_shared<const PartialResults>(device, rows * parts * folds, rows);
    launch->set(first_in - 2, found->results());
    launch->set(first_in - 1, found->counters());
  }
  return [launch, first_in, first_out, found](KernelContext& run) {
    launch->set_operands(first_in, first_out, run);
    launch->run();
  };
}

}  // namespace antichain::cuda
