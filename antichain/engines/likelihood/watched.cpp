#include "antichain/engines/likelihood/watched.h"

#include <fmt/format.h>

#include <limits>

#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/reports.h"

namespace antichain::likelihood {

namespace {

Var product_sum(Var a, Var b) { return sum(cast(a, f64) * cast(b, f64)); }

Var cosine_of(Var found, Var exact) {
  const Var lengths = sqrt(product_sum(found, found) * product_sum(exact, exact));
  return product_sum(found, exact) / maximum(lengths, 1e-300);
}

}  // namespace

std::vector<Var> with_cosines(VjpContext& context, std::vector<Var> gradients,
                              std::int64_t interval) {
  Graph& graph = context.graph();
  const Op op = context.op();
  std::vector<std::size_t> watched;
  Vars inputs;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    inputs.push_back(graph.capture(op.input(static_cast<int>(i))));
    if (gradients[i].valid() && context.needs(static_cast<int>(i))) {
      watched.push_back(i);
    }
  }
  const Var output_grad = graph.capture(context.grad());
  const auto compare = [&] {
    Vars arguments, wanted, cosines;
    for (Var input : inputs) {
      arguments.push_back(graph.capture(input));
    }
    for (std::size_t i : watched) {
      wanted.push_back(arguments[i]);
    }
    const Vars losses = clean_results(graph, op.regions()[0], arguments);
    const Vars exact = context.walk_back(losses, Vars{graph.capture(output_grad)}, wanted);
    for (std::size_t n = 0; n < watched.size(); ++n) {
      cosines.push_back(exact[n].valid()
                            ? cosine_of(graph.capture(gradients[watched[n]]), exact[n])
                            : scalar(graph, f64, std::numeric_limits<double>::quiet_NaN()));
    }
    return cosines;
  };
  const auto wait = [&] {
    return Vars(watched.size(), scalar(graph, f64, std::numeric_limits<double>::quiet_NaN()));
  };
  // A key holds the seed and the number of the run.
  const Var run = index(random_key(graph), 0, 1);
  const Var is_due = equal(modulo(run, interval), 0);
  const Vars cosines = cond(is_due, compare, wait, {}, op.location());
  for (std::size_t n = 0; n < watched.size(); ++n) {
    const std::size_t i = watched[n];
    gradients[i] = with_report(
        gradients[i], fmt::format("cosine/{}", graph.origin(op.input(static_cast<int>(i))).name()),
        cosines[n]);
  }
  return gradients;
}

}  // namespace antichain::likelihood
