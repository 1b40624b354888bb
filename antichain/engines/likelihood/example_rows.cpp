#include "antichain/engines/likelihood/example_rows.h"

#include <utility>

#include "antichain/engines/likelihood/row_axes.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::likelihood {

namespace {

// Several ways to a loss count once.
Var as_reach(Var ways) { return cast(greater(ways, 0), f32); }

Rows moved(const Rows& rows, int by) { return {rows.axis + by, rows.reach}; }

}  // namespace

ExampleRows::ExampleRows(Graph& graph, RegionId region, std::function<Var(Var)> value_of)
    : graph_(graph), value_of_(std::move(value_of)) {
  const Var losses = graph.var(graph.region(region).results[0]);
  losses_ = losses.dim(0);
  found_[losses.id()] = Rows{};
  walk(region, /*is_body=*/false);
}

std::optional<Rows> ExampleRows::of(const Site& site) const {
  const auto found = found_.find(site.value.id());
  if (found == found_.end() || !found->second) {
    return std::nullopt;
  }
  return moved(*found->second, site.chain.valid() ? 1 : 0);
}

Var ExampleRows::matrix(const Rows& rows) const {
  return rows.is_own() ? one_hot(iota(graph_, DType::i64, losses_), losses_, f32) : rows.reach;
}

void ExampleRows::merge(Var value, const Found& found) {
  const auto [known, is_new] = found_.try_emplace(value.id(), found);
  if (is_new || !known->second) {
    return;
  }
  if (!found || found->axis != known->second->axis) {
    known->second = std::nullopt;
  } else if (!found->is_own() || !known->second->is_own()) {
    known->second->reach = maximum(matrix(*known->second), matrix(*found));
  }
}

void ExampleRows::walk(RegionId region, bool is_body) {
  const std::vector<Op> ops = schedule_region(graph_, region);
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    visit(*op, is_body);
  }
}

void ExampleRows::visit(Op op, bool is_body) {
  if (&op.def() == &chain_def() && !is_body) {
    visit_chain(op);
    return;
  }
  for (Var output : op.outputs()) {
    const auto of_output = found_.find(output.id());
    if (of_output == found_.end()) {
      continue;
    }
    const Found rows = of_output->second;
    for (int i = 0; i < op.num_inputs(); ++i) {
      merge(op.input(i), rows ? before(op, i, *rows, is_body) : std::nullopt);
    }
  }
}

ExampleRows::Found ExampleRows::before(Op op, int input, const Rows& rows, bool is_body) const {
  if (const std::optional<int> axis = axis_before(op, input, rows.axis)) {
    return Rows{*axis, rows.reach};
  }
  if (is_body) {
    return std::nullopt;
  }
  if (&op.def() == &gather_def() && input == 0 && op.input(1).rank() == 1) {
    const auto along = op.attrs().get<std::int64_t>("axis");
    if (along == rows.axis) {
      const Var nothing = zeros(graph_, f32, {op.input(0).dim(rows.axis), losses_});
      return Rows{rows.axis,
                  as_reach(scatter_add(nothing, value_of_(op.input(1)), matrix(rows), 0))};
    }
  }
  constexpr int kDense = 3;
  if (&op.def() == &csr_matmul_def() && input == kDense && rows.axis == 0) {
    const Var columns = value_of_(op.input(1));
    const Csr pattern{.values = ones(graph_, f32, columns.shape()),
                      .columns = columns,
                      .row_starts = value_of_(op.input(2)),
                      .num_columns = op.attrs().get<Dim>("num_columns")};
    const bool is_transposed = op.attrs().get<bool>("transposed");
    return Rows{0, as_reach(csr_matmul(pattern, matrix(rows), !is_transposed))};
  }
  return std::nullopt;
}

// Steps that carry nothing are examples themselves, as where an op is mapped one by one.
bool ExampleRows::visit_independent_steps(Op op) {
  const ChainLayout layout(op);
  Found rows;
  bool any = false;
  for (int i = 0; i < layout.ys; ++i) {
    if (const auto found = found_.find(op.output(i).id()); found != found_.end()) {
      const bool counts_steps = found->second && found->second->axis == 0;
      if (layout.states > 0 || !counts_steps || (any && !rows->is_own())) {
        return false;
      }
      rows = found->second;
      any = true;
    }
  }
  for (int i = 0; any && i < op.num_inputs(); ++i) {
    merge(op.input(i), i < layout.xs ? rows : std::nullopt);
  }
  return any;
}

// The steps are walked until what is known of the states that they carry holds for all of them.
void ExampleRows::visit_chain(Op op) {
  if (visit_independent_steps(op)) {
    return;
  }
  const ChainLayout layout(op);
  const RegionInfo& body = graph_.region(op.regions()[0]);
  const std::vector<Var> params = graph_.vars(body.params), results = graph_.vars(body.results);
  const auto merge_output = [&](int output, std::size_t result, int by) {
    const auto found = found_.find(op.output(output).id());
    if (found == found_.end()) {
      return;
    }
    // A matrix would grow with every step.
    const bool stays = found->second && found->second->is_own() && found->second->axis + by >= 0;
    merge(results[result], stays ? Found(moved(*found->second, by)) : std::nullopt);
  };
  for (int i = 0; i < layout.states; ++i) {
    merge_output(i, static_cast<std::size_t>(i), 0);
    merge_output(layout.first_before() + i, static_cast<std::size_t>(i), -1);
  }
  for (int i = 0; i < layout.ys; ++i) {
    merge_output(layout.first_y() + i, static_cast<std::size_t>(layout.states + i), -1);
  }
  for (int round = 0; round <= layout.states; ++round) {
    walk(op.regions()[0], /*is_body=*/true);
    for (int i = 0; i < layout.states; ++i) {
      const auto found = found_.find(params[static_cast<std::size_t>(1 + i)].id());
      if (found != found_.end()) {
        merge(results[static_cast<std::size_t>(i)], found->second);
      }
    }
  }
  walk(op.regions()[0], /*is_body=*/true);
  for (int i = 0; i < op.num_inputs(); ++i) {
    const auto found = found_.find(params[static_cast<std::size_t>(1 + i)].id());
    if (found == found_.end()) {
      continue;
    }
    const bool is_sequence = i >= layout.states && i < layout.first_captured();
    merge(op.input(i),
          found->second && is_sequence ? Found(moved(*found->second, 1)) : found->second);
  }
}

}  // namespace antichain::likelihood
