#include "antichain/backends/cuda/rows/fused_rows.h"

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/fold_names.h"
#include "antichain/backends/cuda/rows/block_split.h"
#include "antichain/backends/cuda/rows/row_body.h"
#include "antichain/backends/cuda/rows/row_layout.h"
#include "antichain/backends/cuda/rows/row_writer.h"

namespace antichain::cuda {

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
  const RowBody body(context.op);
  RowLayout layout(context, body);
  if (split && body.can_split()) {
    layout.split(2);
  }
  return row_text(context, body, layout);
}

KernelFunction plan_rows(const KernelContext& context, const Context& device) {
  const RowBody body(context.op);
  const RowLayout layout(context, body);
  for (const OpId id : body.region().ops) {
    const std::optional<FoldName> fold = find_fold(body.graph().op(id).def());
    require<ShapeError>(!fold || !fold->chooses || layout.rows() == 0 || layout.length() > 0,
                        "{}: there is no element to choose from", context.where);
  }
  std::vector<std::int64_t> slots = layout.outer.slots();
  const std::vector<std::int64_t> more = layout.inner.slots();
  slots.insert(slots.end(), more.begin(), more.end());
  slots.insert(slots.end(), {layout.rows(), layout.length(), layout.parts, layout.part_length});
  const std::size_t results = slots.size(), counters = results + 1, aligned = results + 2;
  const std::size_t first_in = results + 3;
  const std::size_t first_out = first_in + std::max<std::size_t>(context.inputs.size(), 1);
  slots.resize(first_out + context.outputs.size());
  const auto launch = std::make_shared<Launch>(
      device, row_text(context, body, layout), "fused_rows", layout.blocks(),
      dim3(static_cast<unsigned>(layout.block_threads())), std::move(slots));
  std::shared_ptr<const PartialResults> found;
  if (layout.parts > 1) {
    const auto folds = static_cast<std::int64_t>(body.num_folds());
    found = std::make_shared<const PartialResults>(device, layout.blocks() * folds, layout.rows());
    launch->set(results, found->results());
    launch->set(counters, found->counters());
  }
  return [launch, layout, found, aligned, first_in, first_out](KernelContext& run) {
    launch->set(aligned, std::int64_t{layout.is_aligned(run) ? 1 : 0});
    launch->set_operands(first_in, first_out, run);
    launch->run();
  };
}

}  // namespace antichain::cuda
