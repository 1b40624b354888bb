#include "antichain/backends/cuda/reduce_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/block_split.h"
#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/fold_names.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostOf32Bits = std::int64_t{1} << 31;

// Which axes of the input are reduced: those named, or those that broadcasting had repeated.
std::vector<bool> reduced_axes(const KernelContext& context) {
  const Shape &from = context.in(0).shape(), &to = context.out().shape();
  if (&context.op.def() == &sum_to_def()) {
    const std::size_t added = from.size() - to.size();
    std::vector<bool> reduced(from.size(), true);
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      reduced[axis + added] = to[axis] == 1;
    }
    return reduced;
  }
  const Ints& axes = context.attr<Ints>("axes");
  std::vector<bool> reduced(from.size(), axes.empty());
  for (const std::int64_t axis : axes) {
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  return reduced;
}

StridedLoop loop_over(const Tensor& x, const std::vector<bool>& chosen, bool value) {
  Shape shape;
  Strides strides;
  for (std::size_t axis = 0; axis < chosen.size(); ++axis) {
    if (chosen[axis] == value) {
      shape.push_back(x.shape()[axis]);
      strides.push_back(x.strides()[axis]);
    }
  }
  return StridedLoop(shape, {strides});
}

// C++ for a function that returns where an index along a loop lies.
std::string place_function(const char* name, const StridedLoop& loop) {
  return fmt::format(
      "struct {0}Axes {{\n{1}}};\n"
      "long long {0}_at(const {0}Axes& a, Index i) {{\n{2}    return {3};\n}}\n",
      name, loop.members_code(), loop.positions_code(), loop.place_code(0));
}

// The kept and the reduced axes of an op's input.
struct Walks {
  explicit Walks(const KernelContext& context) : Walks(context.in(0), reduced_axes(context)) {}
  Walks(const Tensor& x, const std::vector<bool>& chosen)
      : kept(loop_over(x, chosen, false)), reduced(loop_over(x, chosen, true)) {}

  // Whether outputs lie side by side in memory, rather than the elements of one.
  bool has_columns() const {
    return !kept.sizes.empty() && kept.strides[0].back() == 1 && kept.count > 1;
  }

  StridedLoop kept, reduced;
};

// Threads of a block stand beside each other along what is packed. Where several blocks share the
// elements of their outputs, the last of them that is done joins what they have found.
std::string reduce_text(const KernelContext& context, const FoldName& fold, const Walks& walks) {
  std::string text = "#include \"antichain/backends/cuda/device/fold.cuh\"\n";
  text += "using namespace antichain;\nusing namespace antichain::device;\n";
  text += fmt::format(
      "using Index = {};\n",
      std::max(walks.kept.count, walks.reduced.count) < kMostOf32Bits ? "unsigned" : "long long");
  text += fmt::format("using In = {};\nusing Out = {};\nusing Fold = {};\n",
                      storage_type(context.in(0).dtype()), storage_type(context.out().dtype()),
                      fold.name);
  text += place_function("kept", walks.kept) + place_function("reduced", walks.reduced);
  text += R"(
struct Arguments {
  keptAxes kept;
  reducedAxes reduced;
  long long columns, across, along, parts, length;
  const In* in;
  Out* out;
  Total<In>* found;
  unsigned* counters;
};
extern "C" __global__ void reduce(const Arguments a) {
  __shared__ Total<In> shared[256];
  const unsigned across = a.across, along = a.along;
  const unsigned own = a.columns ? threadIdx.x / across : threadIdx.x % along;
  const unsigned stride = a.columns ? across : 1;
  const Index group = blockIdx.x / Index(a.parts), part = blockIdx.x % Index(a.parts);
  const long long o =
      (long long)group * across + (a.columns ? threadIdx.x % across : threadIdx.x / along);
  const bool is_output = o < a.kept.count;
  Total<In> total = Fold::none<Total<In>>();
  if (is_output) {
    const In* const start = a.in + kept_at(a.kept, Index(o));
    const Index begin = part * Index(a.length), rest = Index(a.reduced.count) - begin;
    const Index end = begin + (rest < Index(a.length) ? rest : Index(a.length));
#pragma unroll 4
    for (Index r = begin + own; r < end; r += along) {
      total = Fold::join(total, Total<In>(load<In>(start[reduced_at(a.reduced, r)])));
    }
  }
  total = join_threads<Fold>(total, shared, own, along, stride);
  if (a.parts > 1) {
    if (is_output && own == 0) {
      a.found[part * a.kept.count + o] = total;
    }
    if (!comes_last(a.counters + group, a.parts)) {
      return;
    }
    total = Fold::none<Total<In>>();
    for (Index p = own; is_output && p < Index(a.parts); p += along) {
      total = Fold::join(total, __ldcg(a.found + p * a.kept.count + o));
    }
    total = join_threads<Fold>(total, shared, own, along, stride);
  }
  if (is_output && own == 0) {
)";
  text += fmt::format("    a.out[o] = stored<Out>(Compute<Out>({}));\n  }}\n}}\n",
                      fold.averages ? "total / (double)a.reduced.count" : "total");
  return text;
}

KernelFunction plan(const KernelContext& context, const Context& device, const FoldName& fold) {
  const Walks walks(context);
  const std::int64_t outputs = walks.kept.count;
  require<ShapeError>(!fold.chooses || outputs == 0 || walks.reduced.count > 0,
                      "{}: there is no element to choose from", context.where);
  const bool columns = walks.has_columns();
  const BlockSplit split = split_reduction(outputs, walks.reduced.count, columns);
  const std::int64_t groups = split.groups(outputs);
  std::vector<std::int64_t> slots = walks.kept.slots();
  const std::vector<std::int64_t> more = walks.reduced.slots();
  slots.insert(slots.end(), more.begin(), more.end());
  slots.insert(slots.end(),
               {columns ? 1 : 0, split.across, split.along, split.parts, split.length});
  const std::size_t first = slots.size();
  slots.resize(first + 4);
  const auto launch =
      std::make_shared<Launch>(device, reduce_text(context, fold, walks), "reduce",
                               groups * split.parts, dim3(BlockSplit::kThreads), std::move(slots));
  std::shared_ptr<const PartialResults> found;
  if (split.parts > 1) {
    found = std::make_shared<const PartialResults>(device, outputs * split.parts, groups);
    launch->set(first + 2, found->results());
    launch->set(first + 3, found->counters());
  }
  return [launch, first, found](KernelContext& run) {
    launch->set(first, run.in(0).raw());
    launch->set(first + 1, run.out().raw());
    launch->run();
  };
}

}  // namespace

std::string reduce_code(const KernelContext& context) {
  return reduce_text(context, *find_fold(context.op.def()), Walks(context));
}

void register_reductions(KernelTable& kernels, const Context& context) {
  std::vector<const OpDef*> defs = reduce_family();
  defs.push_back(&sum_to_def());
  for (const OpDef* def : defs) {
    if (const std::optional<FoldName> fold = find_fold(*def)) {
      kernels.add(*def,
                  {.name = "generated reduction",
                   .supports = [](Op) { return Support{}; },
                   .plan = [context, fold = *fold](
                               const KernelContext& seen) { return plan(seen, context, fold); },
                   .strided_inputs = true});
    }
  }
}

}  // namespace antichain::cuda
