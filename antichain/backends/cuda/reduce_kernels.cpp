#include "antichain/backends/cuda/reduce_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/fold_names.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/strided_loop.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"

namespace antichain::cuda {

namespace {

constexpr int kBlock = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;

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

// Threads of a block lie beside each other along what is packed: along the outputs where those are
// (columns), along the elements of one output otherwise.
std::string reduce_text(const KernelContext& context, const FoldName& fold, const StridedLoop& kept,
                        const StridedLoop& reduced) {
  std::string text = "#include \"antichain/backends/cuda/device/fold.cuh\"\n";
  text +=
      "using namespace antichain;\nusing namespace antichain::device;\nusing Index = long long;\n";
  text += fmt::format("using In = {};\nusing Out = {};\nusing Fold = {};\n",
                      storage_type(context.in(0).dtype()), storage_type(context.out().dtype()),
                      fold.name);
  text += place_function("kept", kept) + place_function("reduced", reduced);
  text += R"(
struct Arguments {
  keptAxes kept;
  reducedAxes reduced;
  const In* in;
  Out* out;
};
extern "C" __global__ void reduce(const Arguments a) {
  __shared__ Total<In> shared[256];
  const Index outputs = a.kept.count, count = a.reduced.count;
  const Index width = blockDim.y > 1 ? blockDim.x : 1;
  for (Index first = blockIdx.x * width; first < outputs; first += gridDim.x * width) {
    const Index o = first + (blockDim.y > 1 ? threadIdx.x : 0);
    Total<In> total = Fold::none<Total<In>>();
    if (o < outputs) {
      const In* const start = a.in + kept_at(a.kept, o);
      const Index begin = blockDim.y > 1 ? threadIdx.y : threadIdx.x;
      const Index step = blockDim.y > 1 ? blockDim.y : blockDim.x;
      for (Index r = begin; r < count; r += step) {
        total = Fold::join(total, Total<In>(load<In>(start[reduced_at(a.reduced, r)])));
      }
    }
    total = join_block<Fold>(total, shared);
    const bool writes = blockDim.y > 1 ? threadIdx.y == 0 : threadIdx.x == 0;
    if (o < outputs && writes) {
)";
  text += fmt::format("      a.out[o] = stored<Out>(Compute<Out>({}));\n    }}\n  }}\n}}\n",
                      fold.averages ? "total / (double)count" : "total");
  return text;
}

KernelFunction plan(const KernelContext& context, const Context& device, const FoldName& fold) {
  const std::vector<bool> chosen = reduced_axes(context);
  const StridedLoop kept = loop_over(context.in(0), chosen, false);
  const StridedLoop reduced = loop_over(context.in(0), chosen, true);
  require<ShapeError>(!fold.chooses || kept.count == 0 || reduced.count > 0,
                      "{}: there is no element to choose from", context.where);
  std::vector<std::int64_t> slots = kept.slots();
  const std::vector<std::int64_t> more = reduced.slots();
  slots.insert(slots.end(), more.begin(), more.end());
  const std::size_t first = slots.size();
  slots.resize(first + 2);
  const bool columns = !kept.sizes.empty() && kept.strides[0].back() == 1 && kept.count > 1;
  const dim3 block = columns ? dim3(32, kBlock / 32) : dim3(kBlock);
  const std::int64_t blocks =
      std::min(kMostBlocks, (kept.count + (columns ? 31 : 0)) / (columns ? 32 : 1));
  const auto launch = std::make_shared<Launch>(device, reduce_text(context, fold, kept, reduced),
                                               "reduce", blocks, block, std::move(slots));
  return [launch, first](KernelContext& run) {
    launch->set(first, run.in(0).raw());
    launch->set(first + 1, run.out().raw());
    launch->run();
  };
}

}  // namespace

void register_reductions(KernelTable& kernels, const Context& context) {
  std::vector<const OpDef*> defs = reduce_family();
  defs.push_back(&sum_to_def());
  for (const OpDef* def : defs) {
    if (const std::optional<FoldName> fold = find_fold(*def)) {
      kernels.add(*def,
                  {.name = "block reduction",
                   .supports = [](Op) { return Support{}; },
                   .plan = [context, fold = *fold](
                               const KernelContext& seen) { return plan(seen, context, fold); },
                   .strided_inputs = true});
    }
  }
}

}  // namespace antichain::cuda
