#include "antichain/session/coarse_step_check.h"

#include <cmath>
#include <limits>

#include "antichain/engines/multigrid/body_on_grid.h"
#include "antichain/engines/multigrid/step_consistency.h"

namespace antichain {

namespace {

constexpr double kLeastOrder = 1.5;

}  // namespace

double CoarseStepCheck::order() const {
  const double last = differences.back(), before = differences[differences.size() - 2];
  return last > 0 ? std::log2(before / last) : std::numeric_limits<double>::infinity();
}

bool CoarseStepCheck::is_consistent() const { return order() >= kLeastOrder; }

CoarseStepCheck check_coarse_step(Session& session, Var output, const Feeds& feeds) {
  Graph& graph = output.graph();
  require(!graph.is_region_param(output) && &output.producer().def() == &chain_def() &&
              ChainLayout(output.producer()).states > 0,
          "check_coarse_step: {} is no output of a chain with states", output.name());
  const Op chain = output.producer();
  require(multigrid::says_coarse_step(graph, chain.regions()[0]),
          "check_coarse_step: the body of {} has neither grid_stride nor on_coarse_grids", chain);
  const std::vector<Tensor> found =
      session.compile(multigrid::step_consistency(chain))(feeds).tensors();
  CoarseStepCheck check{.from_fine = found[0].item<double>()};
  if (const double change = found[1].item<double>(); change > 0) {
    check.from_fine /= change;
  }
  for (std::size_t i = 2; i < found.size(); ++i) {
    check.differences.push_back(found[i].item<double>());
  }
  return check;
}

}  // namespace antichain
