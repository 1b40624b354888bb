#include "antichain/engines/multigrid/multigrid_chain.h"

#include <limits>

#include "antichain/engines/multigrid/cycles.h"
#include "antichain/engines/multigrid/kept_guess.h"
#include "antichain/engines/multigrid/training_runs.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::multigrid {

namespace {

Vars start_of(Op chain) {
  const Vars inputs = chain.inputs();
  return {inputs.begin(), inputs.begin() + ChainLayout(chain).states};
}

void add_in_order(Vars& outputs, const Vars& values, bool reverse) {
  for (Var value : values) {
    outputs.push_back(reverse ? flip(value, {0}) : value);
  }
}

// What stands for a chain, and what was measured of it.
struct Solved {
  Vars outputs;
  Var cycles, residual, ratio;

  Vars values() const {
    Vars all = outputs;
    all.insert(all.end(), {cycles, residual, ratio});
    return all;
  }
  static Solved of(const Vars& values) {
    const auto end = values.end();
    return {{values.begin(), end - 3}, *(end - 3), *(end - 2), *(end - 1)};
  }
};

Var unknown(Graph& graph) { return scalar(graph, f64, std::numeric_limits<double>::quiet_NaN()); }

Solved solve(Op chain, const SolveOptions& options, const Cycles::From& from) {
  const bool reverse = chain.attrs().get<bool>("reverse");
  const Cycles::Outcome found = Cycles(chain, options).solve(start_of(chain), from);
  Vars outputs = found.states.last;
  add_in_order(outputs, found.states.before, reverse);
  add_in_order(outputs, found.states.ys, reverse);
  return {outputs, found.cycles, found.residual, found.ratio};
}

Solved step_by_step(Op chain) {
  Graph& graph = chain.graph();
  Attrs attrs = chain.attrs();
  attrs.set("engine", std::string());
  return {graph
              .add(chain_def(), captured_here(graph, chain.inputs()), attrs, {chain.regions()[0]},
                   chain.location())
              .outputs(),
          scalar(graph, i64, 0), scalar(graph, f64, 0), unknown(graph)};
}

// The outputs of the steps one after the other and, behind them, the cosine of the angle between
// what these and the solve do to the first states.
Vars with_cosine(Op chain, const Vars& solved) {
  Graph& graph = chain.graph();
  Vars exact = step_by_step(chain).outputs;
  const Vars start = captured_here(graph, start_of(chain));
  Var product = scalar(graph, f64, 0), solved_square = product, exact_square = product;
  const auto change = [](Var state, Var from) { return cast(state, f64) - cast(from, f64); };
  for (std::size_t i = 0; i < 2 * start.size(); ++i) {
    const Var first = start[i % start.size()];
    if (is_float(first.dtype())) {
      const Var a = change(graph.capture(solved[i]), first), b = change(exact[i], first);
      product = product + sum(a * b);
      solved_square = solved_square + sum(a * a);
      exact_square = exact_square + sum(b * b);
    }
  }
  exact.push_back(product / sqrt(solved_square * exact_square));
  return exact;
}

Vars reported(const Solved& solved) {
  Vars outputs = with_report(solved.outputs, "multigrid_cycles", solved.cycles);
  outputs = with_report(outputs, "multigrid_residual", solved.residual);
  return with_report(outputs, "multigrid_ratio", solved.ratio);
}

}  // namespace

std::string why_not_solved(Op chain, CoarseStep coarse) {
  const ChainLayout layout(chain);
  if (layout.states == 0) {
    return "nothing is carried between its steps";
  }
  for (int i = 0; i < layout.states; ++i) {
    if (chain.input(i).dtype() == DType::boolean) {
      return "it carries bool, and multigrid corrects states by adding to them";
    }
  }
  std::string reason = why_not_vmap(chain.graph(), chain.regions()[0]);
  if (!reason.empty()) {
    return reason;
  }
  return coarse == CoarseStep::chosen ? no_coarse_step() : std::string();
}

Vars solve_chain(Op chain, const SolveOptions& options, const ForwardContext& context) {
  const std::optional<TrainingRuns> runs = TrainingRuns::of(chain.graph(), options);
  const std::optional<KeptGuess> guess = KeptGuess::of(chain, options, context);
  Cycles::From from;
  if (guess) {
    from = {.ends = guess->ends(), .is_known = guess->is_known()};
  }
  const auto kept = [&](const Vars& outputs) {
    return guess ? guess->kept(outputs, outputs) : outputs;
  };
  if (!runs) {
    const Solved solved = solve(chain, options, from);
    return context.keeps_reports ? kept(reported(solved)) : solved.outputs;
  }
  from.most_cycles = runs->cycles();
  Solved solved;
  const Var is_serial = runs->is_serial();
  if (!is_serial.valid()) {
    solved = solve(chain, options, from);
  } else {
    solved = Solved::of(cond(
        is_serial, [&] { return step_by_step(chain).values(); },
        [&] { return solve(chain, options, from).values(); }, {}, chain.location()));
  }
  if (!context.keeps_reports) {
    return solved.outputs;
  }
  Var cosine;
  if (Var is_checked = runs->is_checked(); is_checked.valid()) {
    if (is_serial.valid()) {
      is_checked = logical_and(is_checked, logical_not(is_serial));
    }
    Vars compared = cond(
        is_checked, [&] { return with_cosine(chain, solved.outputs); },
        [&] {
          Vars values = solved.outputs;
          values.push_back(unknown(chain.graph()));
          return values;
        },
        {}, chain.location());
    cosine = compared.back();
    compared.pop_back();
    solved.outputs = compared;
  }
  solved.outputs = reported(solved);
  return kept(runs->counted(
      solved.outputs, {.residual = solved.residual, .ratio = solved.ratio, .cosine = cosine}));
}

}  // namespace antichain::multigrid
