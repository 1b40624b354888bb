#include "antichain/backends/cpu/movement_kernels.h"

#include "antichain/backends/cpu/copy_plan.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"

namespace antichain::cpu {

namespace {

// A copy from an input to an output of an op.
struct Move {
  int output = 0, input = 0;
  CopyPlan copy;
};

KernelFunction run_moves(std::vector<Move> moves) {
  return [moves = std::move(moves)](KernelContext& context) {
    for (const Move& move : moves) {
      move.copy.run(context.out(move.output).raw(), context.in(move.input).raw());
    }
  };
}

std::size_t element_bytes(const KernelContext& context) { return size_of(context.in(0).dtype()); }

// A view of the only input in the order of the packed output.
KernelFunction copy_view(const KernelContext& context, const Layout& view) {
  return run_moves({{0, 0, CopyPlan(Layout::packed(view.shape), view, element_bytes(context))}});
}

KernelFunction plan_broadcast_to(const KernelContext& context) {
  return copy_view(context, Layout::of(context.in(0)).broadcast_to(context.out().shape()));
}

KernelFunction plan_reshape(const KernelContext& context) {
  return copy_view(context, Layout::of(context.in(0)));
}

KernelFunction plan_transpose(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  Layout view;
  for (const std::int64_t axis : context.attr<Ints>("permutation")) {
    view.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    view.strides.push_back(x.strides[static_cast<std::size_t>(axis)]);
  }
  return copy_view(context, view);
}

KernelFunction plan_flip(const KernelContext& context) {
  Layout view = Layout::of(context.in(0));
  for (const std::int64_t entry : context.attr<Ints>("axes")) {
    const auto axis = static_cast<std::size_t>(entry);
    view = view.slice(axis, view.shape[axis] - 1, view.shape[axis], -1);
  }
  return copy_view(context, view);
}

// [a, b] -> [m, a, n, b], packed
KernelFunction plan_tile(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  Layout view;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    view.shape.insert(view.shape.end(), {context.attr<Ints>("counts")[i], x.shape[i]});
    view.strides.insert(view.strides.end(), {0, x.strides[i]});
  }
  return copy_view(context, view);
}

KernelFunction plan_slice(const KernelContext& context) {
  Layout view = Layout::of(context.in(0));
  const std::vector<std::int64_t> starts = context.sizes("starts");
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    view = view.slice(axis, starts[axis], context.out().shape()[axis],
                      context.attr<Ints>("steps")[axis]);
  }
  return copy_view(context, view);
}

KernelFunction plan_concat(const KernelContext& context) {
  const Layout out = Layout::packed(context.out().shape());
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.out().rank()));
  std::vector<Move> moves;
  std::int64_t start = 0;
  for (int i = 0; i < static_cast<int>(context.inputs.size()); ++i) {
    const Layout part = Layout::of(context.in(i));
    const Layout place = out.slice(axis, start, part.shape[axis]);
    moves.push_back({0, i, CopyPlan(place, part, element_bytes(context))});
    start += part.shape[axis];
  }
  return run_moves(std::move(moves));
}

KernelFunction plan_stack(const KernelContext& context) {
  const Layout out = Layout::packed(context.out().shape());
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.out().rank()));
  std::vector<Move> moves;
  for (int i = 0; i < static_cast<int>(context.inputs.size()); ++i) {
    Layout part = Layout::of(context.in(i));
    part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    part.strides.insert(part.strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    moves.push_back({0, i, CopyPlan(out.slice(axis, i, 1), part, element_bytes(context))});
  }
  return run_moves(std::move(moves));
}

KernelFunction plan_split(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.in(0).rank()));
  std::vector<Move> moves;
  std::int64_t start = 0;
  for (int i = 0; i < static_cast<int>(context.outputs.size()); ++i) {
    const Layout part = Layout::packed(context.out(i).shape());
    const Layout place = x.slice(axis, start, part.shape[axis]);
    moves.push_back({i, 0, CopyPlan(part, place, element_bytes(context))});
    start += part.shape[axis];
  }
  return run_moves(std::move(moves));
}

}  // namespace

void register_movement(KernelTable& kernels) {
  const auto add = [&kernels](const OpDef& def, KernelFunction (*plan)(const KernelContext&)) {
    kernels.add(def, {.name = "strided copy",
                      .supports = [](Op) { return Support{}; },
                      .plan = plan,
                      .strided_inputs = true});
  };
  add(broadcast_to_def(), plan_broadcast_to);
  add(reshape_def(), plan_reshape);
  add(transpose_def(), plan_transpose);
  add(flip_def(), plan_flip);
  add(tile_def(), plan_tile);
  add(slice_def(), plan_slice);
  add(concat_def(), plan_concat);
  add(stack_def(), plan_stack);
  add(split_def(), plan_split);
}

}  // namespace antichain::cpu
