#include "antichain/backends/cuda/rows/reduce_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
#include "antichain/backends/cuda/elementwise/fold_names.h"
#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/backends/cuda/rows/block_split.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kEnoughElements = 1 << 19;  // enough for all threads of a large GPU

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

StridedLoop loop_over_axes(const Tensor& x, const std::vector<bool>& chosen, bool value) {
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

// How an op's input is walked: over its outputs, and over the elements of each.
struct Walks {
  explicit Walks(const KernelContext& context) : Walks(context.in(0), reduced_axes(context)) {}
  Walks(const Tensor& x, const std::vector<bool>& chosen)
      : kept(loop_over_axes(x, chosen, false)),
        reduced(loop_over_axes(x, chosen, true)),
        columns(!kept.sizes.empty() && kept.strides[0].back() == 1 && kept.count > 1),
        width(widest_run(static_cast<std::int64_t>(size_of(x.dtype())))),
        split(columns ? split_columns(kept.count / width, reduced.count)
                      : split_lines(kept.count, reduced.count, width)) {}

  std::int64_t groups() const { return split.groups(columns ? kept.count / width : kept.count); }

  StridedLoop kept, reduced;
  bool columns;        // outputs lie side by side in memory, rather than the elements of one
  std::int64_t width;  // elements that a thread reads at once
  BlockSplit split;

 private:
  std::int64_t widest_run(std::int64_t element_bytes) const {
    const StridedLoop &along = columns ? kept : reduced, &other = columns ? reduced : kept;
    const auto fits = [&](std::int64_t length) {
      return along.count % length == 0 && along.has_runs(length) && along.is_run(0, length) &&
             std::ranges::all_of(other.strides[0],
                                 [length](std::int64_t stride) { return stride % length == 0; });
    };
    // Where there are few elements, more threads are faster than wider ones.
    const bool many = reduced.count > 0 && kept.count >= kEnoughElements / reduced.count;
    std::int64_t length = columns && !many ? 1 : std::min(kLongestRun, kRunBytes / element_bytes);
    while (length > 1 && !fits(length)) {
      length /= 2;
    }
    return length;
  }
};

// The end of a kernel whose threads have the totals of lines.
std::string join_of_lines(bool split) {
  std::string text = R"(  all[0] = join_row<Fold, kAlong, kThreads>(all[0]);
  if (own == 0) {
    give(o, all[0]);
  }
)";
  if (split) {
    text += R"(  if (!comes_last(a.counters + group, a.parts)) {
    return;
  }
  All total = Fold::none<All>();
  for (Index p = own; o < outputs && p < parts; p += kAlong) {
    total = Fold::join(total, __ldcg(a.found + p * outputs + o));
  }
  total = join_row<Fold, kAlong, kThreads>(total);
  if (own == 0 && o < outputs) {
    finish(o, total);
  }
)";
  }
  return text;
}

// The same for columns. Those of a block, which are no more than threads where blocks share them,
// are joined by as many threads as there are.
std::string join_of_columns(bool split) {
  std::string text = R"(  const Index first = group * (kAcross * kTotals);
  join_columns<Fold, kAcross, kAlong>(all, [&](unsigned column, All total) {
    give(first + column, total);
  });
)";
  if (split) {
    text += R"(  if (!comes_last(a.counters + group, a.parts)) {
    return;
  }
  constexpr int kBeside = kAcross * kTotals, kBehind = kThreads / kBeside;
  const Index output = first + threadIdx.x % kBeside;
  All total[1] = {Fold::none<All>()};
#pragma unroll 8
  for (Index p = threadIdx.x / kBeside; output < outputs && p < parts; p += kBehind) {
    total[0] = Fold::join(total[0], __ldcg(a.found + p * outputs + output));
  }
  join_columns<Fold, kBeside, kBehind>(total, [&](unsigned column, All joined) {
    if (first + column < outputs) {
      finish(first + column, joined);
    }
  });
)";
  }
  return text;
}

// Threads of a block stand beside each other along what is packed; `own` is the place of one among
// those that have the same outputs. A thread reads several runs before it adds them up. Where
// several blocks share the elements of their outputs, the last of them that is done joins what they
// have found.
std::string reduce_text(const KernelContext& context, const FoldName& fold, const Walks& walks) {
  std::string text = "#include \"antichain/backends/cuda/device/column.cuh\"\n";
  text += "using namespace antichain;\nusing namespace antichain::device;\n";
  text += fmt::format(
      "using Index = {};\n",
      std::max(walks.kept.count, walks.reduced.count) < kMostOf32Bits ? "unsigned" : "long long");
  text += fmt::format("using In = {};\nusing Out = {};\nusing Fold = {};\n",
                      storage_type(context.in(0).dtype()), storage_type(context.out().dtype()),
                      fold.name);
  text += fmt::format("constexpr int kAcross = {}, kAlong = {}, kThreads = {}, kWidth = {};\n",
                      walks.split.across, walks.split.along, BlockSplit::kThreads, walks.width);
  const bool split = walks.split.parts > 1;
  text += fmt::format("constexpr bool kColumns = {}, kSplit = {};\n", walks.columns, split);
  text += place_function("kept", walks.kept) + place_function("reduced", walks.reduced);
  text += R"(
using Few = FoldTypes<Fold, Compute<In>>::Few;
using All = FoldTypes<Fold, Compute<In>>::All;
constexpr int kTotals = kColumns ? kWidth : 1;  // of a thread
constexpr int kStep = kColumns ? 1 : kWidth;    // between runs of an output
constexpr int kRuns = 8;                        // read before they are added up
constexpr int kAtOnce = 8 / kStep;              // runs that are added up before their total joins
struct Arguments {
  keptAxes kept;
  reducedAxes reduced;
  long long parts, length, aligned;
  const In* in;
  Out* out;
  All* found;
  unsigned* counters;
};

// What this thread finds of its outputs, the first of which is o, from element `begin` to `end`.
template <bool kAligned>
__forceinline__ void fold_elements(const Arguments& a, Index o, Index begin, Index end,
                                   unsigned own, All (&all)[kTotals]) {
  const In* const start = a.in + kept_at(a.kept, o);
  for (Index first = begin + own * kStep; first < end; first += kRuns * kAlong * kStep) {
    Run<In, kWidth> runs[kRuns];
#pragma unroll
    for (int n = 0; n < kRuns; ++n) {
      const Index r = first + n * kAlong * kStep;
      if (r < end) {
        runs[n] = read_run<kAligned, In, kWidth>(start + reduced_at(a.reduced, r));
      }
    }
#pragma unroll
    for (int n = 0; n < kRuns; n += kAtOnce) {
#pragma unroll
      for (int t = 0; t < kTotals; ++t) {
        Few few = Fold::none<Few>();
#pragma unroll
        for (int m = n; m < n + kAtOnce; ++m) {
          if (first + m * kAlong * kStep < end) {
#pragma unroll
            for (int e = 0; e < kStep; ++e) {
              few = Fold::join(few, Few(load<In>(runs[m].at[t + e])));
            }
          }
        }
        all[t] = Fold::join(all[t], All(few));
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
reduce(const __grid_constant__ Arguments a) {
  const unsigned own = kColumns ? threadIdx.x / kAcross : threadIdx.x % kAlong;
  const unsigned beside = kColumns ? threadIdx.x % kAcross : threadIdx.x / kAlong;
  const Index parts = a.parts, outputs = a.kept.count;
  const Index group = kSplit ? blockIdx.x / parts : blockIdx.x;
  const Index part = kSplit ? blockIdx.x % parts : 0;
  const Index begin = part * Index(a.length), rest = Index(a.reduced.count) - begin;
  const Index end = begin + (rest < Index(a.length) ? rest : Index(a.length));
  const Index o = (group * kAcross + beside) * kTotals;
  All all[kTotals];
#pragma unroll
  for (int t = 0; t < kTotals; ++t) {
    all[t] = Fold::none<All>();
  }
  if (o < outputs) {
    if (kWidth > 1 && a.aligned) {
      fold_elements<(kWidth > 1)>(a, o, begin, end, own, all);
    } else {
      fold_elements<false>(a, o, begin, end, own, all);
    }
  }
  const auto finish = [&](Index output, All total) {
)";
  text += fmt::format("    a.out[output] = stored<Out>(Compute<Out>({}));\n  }};\n",
                      fold.averages ? "total / (double)a.reduced.count" : "total");
  text += "  const auto give = [&](Index output, All total) {\n    if (output < outputs) {\n";
  text += split ? "      a.found[part * outputs + output] = total;\n"
                : "      finish(output, total);\n";
  text += "    }\n  };\n";
  return text + (walks.columns ? join_of_columns(split) : join_of_lines(split)) + "}\n";
}

KernelFunction plan_reduction(const KernelContext& context, const Context& device,
                              const FoldName& fold) {
  const Walks walks(context);
  const std::int64_t outputs = walks.kept.count;
  require<ShapeError>(!fold.chooses || outputs == 0 || walks.reduced.count > 0,
                      "{}: there is no element to choose from", context.where);
  const BlockSplit& split = walks.split;
  std::vector<std::int64_t> slots = walks.kept.slots();
  const std::vector<std::int64_t> more = walks.reduced.slots();
  slots.insert(slots.end(), more.begin(), more.end());
  slots.insert(slots.end(), {split.parts, split.length});
  const std::size_t aligned = slots.size(), in = aligned + 1, out = aligned + 2;
  slots.resize(aligned + 5);
  const auto launch = std::make_shared<Launch>(device, reduce_text(context, fold, walks), "reduce",
                                               walks.groups() * split.parts,
                                               dim3(BlockSplit::kThreads), std::move(slots));
  std::shared_ptr<const PartialResults> found;
  if (split.parts > 1) {
    found = std::make_shared<const PartialResults>(device, outputs * split.parts, walks.groups());
    launch->set(aligned + 3, found->results());
    launch->set(aligned + 4, found->counters());
  }
  const std::size_t run_bytes =
      static_cast<std::size_t>(walks.width) * size_of(context.in(0).dtype());
  return [launch, found, aligned, in, out, run_bytes](KernelContext& run) {
    // Views may begin anywhere.
    const auto address = reinterpret_cast<std::uintptr_t>(run.in(0).raw());
    launch->set(aligned, std::int64_t{address % run_bytes == 0 ? 1 : 0});
    launch->set(in, run.in(0).raw());
    launch->set(out, run.out().raw());
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
      kernels.add(*def, {.name = "generated reduction",
                         .supports = [](Op) { return Support{}; },
                         .plan =
                             [context, fold = *fold](const KernelContext& seen) {
                               return plan_reduction(seen, context, fold);
                             },
                         .strided_inputs = true});
    }
  }
}

}  // namespace antichain::cuda
