#include "antichain/ops/shape/moves.h"

#include <algorithm>
#include <array>

#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

using Moves = std::vector<Move>;

// A view of the only input in the order of the packed output.
Moves view_of_input(const Layout& view) { return {{0, 0, Layout::packed(view.shape), view}}; }

Moves move_broadcast_to(const KernelContext& context) {
  return view_of_input(Layout::of(context.in(0)).broadcast_to(context.out().shape()));
}

Moves move_reshape(const KernelContext& context) {
  return view_of_input(Layout::of(context.in(0)));
}

Moves move_transpose(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  Layout view;
  for (const std::int64_t axis : context.attr<Ints>("permutation")) {
    view.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    view.strides.push_back(x.strides[static_cast<std::size_t>(axis)]);
  }
  return view_of_input(view);
}

Moves move_flip(const KernelContext& context) {
  Layout view = Layout::of(context.in(0));
  for (const std::int64_t entry : context.attr<Ints>("axes")) {
    const auto axis = static_cast<std::size_t>(entry);
    view = view.slice(axis, view.shape[axis] - 1, view.shape[axis], -1);
  }
  return view_of_input(view);
}

// [a, b] -> [m, a, n, b], packed
Moves move_tile(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  Layout view;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    view.shape.insert(view.shape.end(), {context.attr<Ints>("counts")[i], x.shape[i]});
    view.strides.insert(view.strides.end(), {0, x.strides[i]});
  }
  return view_of_input(view);
}

Moves move_slice(const KernelContext& context) {
  Layout view = Layout::of(context.in(0));
  const std::vector<std::int64_t> starts = context.sizes("starts");
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    view = view.slice(axis, starts[axis], context.out().shape()[axis],
                      context.attr<Ints>("steps")[axis]);
  }
  return view_of_input(view);
}

Moves move_concat(const KernelContext& context) {
  const Layout out = Layout::packed(context.out().shape());
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.out().rank()));
  Moves moves;
  std::int64_t start = 0;
  for (int i = 0; i < static_cast<int>(context.inputs.size()); ++i) {
    const Layout part = Layout::of(context.in(i));
    const Layout place = out.slice(axis, start, part.shape[axis]);
    moves.push_back({0, i, place, part});
    start += part.shape[axis];
  }
  return moves;
}

Moves move_stack(const KernelContext& context) {
  const Layout out = Layout::packed(context.out().shape());
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.out().rank()));
  Moves moves;
  for (int i = 0; i < static_cast<int>(context.inputs.size()); ++i) {
    Layout part = Layout::of(context.in(i));
    part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    part.strides.insert(part.strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    moves.push_back({0, i, out.slice(axis, i, 1), part});
  }
  return moves;
}

Moves move_split(const KernelContext& context) {
  const Layout x = Layout::of(context.in(0));
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.in(0).rank()));
  Moves moves;
  std::int64_t start = 0;
  for (int i = 0; i < static_cast<int>(context.outputs.size()); ++i) {
    const Layout part = Layout::packed(context.out(i).shape());
    const Layout place = x.slice(axis, start, part.shape[axis]);
    moves.push_back({i, 0, part, place});
    start += part.shape[axis];
  }
  return moves;
}

struct Row {
  const OpDef& (*def)();
  Moves (*moves)(const KernelContext&);
};
constexpr std::array kRows = {
    Row{broadcast_to_def, move_broadcast_to},
    Row{reshape_def, move_reshape},
    Row{transpose_def, move_transpose},
    Row{flip_def, move_flip},
    Row{tile_def, move_tile},
    Row{slice_def, move_slice},
    Row{concat_def, move_concat},
    Row{stack_def, move_stack},
    Row{split_def, move_split},
};

}  // namespace

std::vector<const OpDef*> moving_ops() {
  std::vector<const OpDef*> ops;
  for (const Row& row : kRows) {
    ops.push_back(&row.def());
  }
  return ops;
}

std::vector<Move> moves_of(const KernelContext& context) {
  const auto row = std::ranges::find_if(
      kRows, [&](const Row& each) { return &each.def() == &context.op.def(); });
  ensure(row != kRows.end(), "{} moves nothing", context.where);
  return row->moves(context);
}

}  // namespace antichain
