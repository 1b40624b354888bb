#include "antichain/backends/cuda/rows/row_layout.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
#include "antichain/backends/cuda/rows/block_split.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kFewestOfBlock = 128;  // short rows share a block
constexpr std::int64_t kMostThreads = 512;    // of a block: leaves each of them 128 registers
constexpr std::int64_t kMostRowBlocks = 1 << 20;
// Of a thread that keeps its elements: more would not leave enough threads on a multiprocessor, or
// take the compiler too long.
constexpr std::int64_t kMostKept = 32, kKeptBytes = 320, kMostStatements = 768;

// A loop over some of the axes of the domain: the rows, or the elements of one.
StridedLoop loop_over_part(const KernelContext& context, const FusedShape& shape, bool rows) {
  const Shape domain = evaluate(shape.domain, *context.env);
  const auto middle = static_cast<std::ptrdiff_t>(domain.size() - shape.row_axes());
  const auto part = [&](const auto& all) {
    return rows ? std::decay_t<decltype(all)>(all.begin(), all.begin() + middle)
                : std::decay_t<decltype(all)>(all.begin() + middle, all.end());
  };
  std::vector<Strides> strides;
  for (const Tensor* input : context.inputs) {
    strides.push_back(part(broadcast_strides(*input, domain)));
  }
  return StridedLoop(part(domain), strides);
}

// What a thread keeps of each element: those of inputs, and values that several walks read.
std::int64_t kept_bytes(const KernelContext& context, const RowBody& body,
                        const std::vector<RowWalk>& walks) {
  std::unordered_set<std::size_t> params;
  std::unordered_set<VarId> values;
  std::size_t bytes = 0;
  for (const RowWalk& walk : walks) {
    for (const std::size_t param : walk.params) {
      bytes += params.insert(param).second ? size_of(context.inputs[param]->dtype()) : 0;
    }
    for (const VarId value : walk.kept) {
      const std::size_t computed =
          std::max<std::size_t>(size_of(body.graph().var(value).dtype()), 4);
      bytes += values.insert(value).second ? computed : 0;
    }
  }
  return static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1));
}

}  // namespace

RowLayout::RowLayout(const KernelContext& context, const RowBody& body)
    : outer(loop_over_part(context, body.shape(), true)),
      inner(loop_over_part(context, body.shape(), false)),
      part_length(inner.count) {
  const std::vector<std::size_t> of_rows = body.row_results();
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    if (std::ranges::find(of_rows, i) == of_rows.end()) {
      run_outputs_.push_back(i);
    }
  }
  width = widest_run(context);
  choose_threads(context, body);
  if (!keeps() && body.can_split()) {
    split(split_rows(rows(), length(), threads));
  }
}

bool RowLayout::is_of_row(std::size_t input) const {
  return inner.kind_of(input) == StridedLoop::Kind::number;
}

bool RowLayout::is_run(std::size_t input, std::int64_t length) const {
  return !is_of_row(input) && inner.is_run(input, length) &&
         std::ranges::all_of(outer.strides[input],
                             [length](std::int64_t stride) { return stride % length == 0; });
}

// Inputs that do not lie side by side are read element by element, so they set no limit.
std::int64_t RowLayout::widest_run(const KernelContext& context) const {
  std::int64_t longest = kLongestRun;
  const auto fit = [&](const Tensor& tensor) {
    longest = std::min(longest, kRunBytes / static_cast<std::int64_t>(size_of(tensor.dtype())));
  };
  for (std::size_t n = 0; n < context.inputs.size(); ++n) {
    if (is_run(n, 1)) {
      fit(*context.inputs[n]);
    }
  }
  for (const std::size_t i : run_outputs_) {
    fit(*context.outputs[i]);
  }
  while (longest > 1 && (length() % longest != 0 || !inner.has_runs(longest))) {
    longest /= 2;
  }
  return longest;
}

// A thread keeps a run or a few of them, if a block has enough threads for that; a warp is the
// least that is dealt a row which has so many runs.
void RowLayout::choose_threads(const KernelContext& context, const RowBody& body) {
  const std::vector<RowWalk> walks = body.walks(true);
  std::size_t statements = 1;
  for (const RowWalk& walk : walks) {
    statements += walk.ops.size() + walk.folds.size();
  }
  const std::int64_t most = std::min({kMostKept, kKeptBytes / kept_bytes(context, body, walks),
                                      kMostStatements / static_cast<std::int64_t>(statements)});
  const std::int64_t most_runs = std::max<std::int64_t>(most / width, 1);
  const std::int64_t all_runs = divided_up(length(), width);
  threads = std::max(power_of_two(divided_up(all_runs, most_runs)),
                     std::min(kWarp, power_of_two(all_runs)));
  if (threads > kMostThreads) {
    threads = kMostThreads;
  } else {
    runs = std::max<std::int64_t>(divided_up(all_runs, threads), 1);
  }
}

void RowLayout::split(std::int64_t most_parts) {
  const std::int64_t all_runs = divided_up(length(), width);
  if (most_parts > 1 && all_runs > 0) {
    runs = 0;
    threads = kMostThreads;
    part_length = divided_up(all_runs, most_parts) * width;
    parts = divided_up(length(), part_length);
  }
}

std::int64_t RowLayout::block_threads() const { return std::max(threads, kFewestOfBlock); }

std::int64_t RowLayout::blocks() const {
  return parts > 1 ? rows() * parts
                   : std::min(divided_up(rows(), block_threads() / threads), kMostRowBlocks);
}

bool RowLayout::is_aligned(const KernelContext& run) const {
  const auto fits = [this](const Tensor& tensor) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.raw());
    return address % (static_cast<std::size_t>(width) * size_of(tensor.dtype())) == 0;
  };
  for (std::size_t n = 0; n < run.inputs.size(); ++n) {
    if (is_run(n) && !fits(*run.inputs[n])) {
      return false;
    }
  }
  return std::ranges::all_of(run_outputs_, [&](std::size_t i) { return fits(*run.outputs[i]); });
}

}  // namespace antichain::cuda
