#include "antichain/engines/likelihood/feedback.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::likelihood {

namespace {

// Of normalised least mean squares: 1 would follow each batch as far as one step can.
constexpr double kLearningRate = 0.5;

std::string state_of(const Site& site) { return site.name + ".feedback"; }

}  // namespace

bool Feedback::supports(const Site& site, const std::optional<Rows>& rows) {
  return !site.chain.valid() && !site.spread.valid() && site.value.rank() == 2 && rows &&
         rows->is_own() && rows->axis == 0 && site.value.dim(1).is_constant();
}

Var Feedback::matrix(const Site& site) const {
  Graph& graph = next_.graph();
  const std::string name = state_of(site);
  if (graph.find_state(name) == nullptr) {
    const Dims shape = {next_.dim(1), site.value.dim(1)};
    graph.add_state({.name = name,
                     .type = {site.dtype(), shape},
                     .initial = zeros(graph, site.dtype(), shape)});
  }
  return read_state(graph, name);
}

Var Feedback::predicted(const Site& site) const {
  return matmul(cast(next_, site.dtype()), matrix(site));
}

Var Feedback::learn(const Site& site, Var residual) const {
  const Var next = cast(next_, residual.dtype());
  const Var size = maximum(sum(square(next)), 1e-30);
  const Var step = matmul(next, residual, {.transpose_a = true}) * (kLearningRate / size);
  return add_update(next.graph(), state_of(site), step);
}

}  // namespace antichain::likelihood
