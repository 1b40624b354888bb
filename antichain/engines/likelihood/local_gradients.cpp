#include "antichain/engines/likelihood/local_gradients.h"

#include <algorithm>
#include <utility>

#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::likelihood {

LocalGradients::LocalGradients(const VjpContext& context, std::vector<Var> arguments)
    : context_(context), arguments_(std::move(arguments)), sums_(arguments_.size()) {}

void LocalGradients::add(const std::vector<Var>& outputs, const std::vector<Var>& output_grads) {
  std::vector<std::size_t> places;
  std::vector<Var> wanted;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (context_.needs(static_cast<int>(i))) {
      places.push_back(i);
      wanted.push_back(arguments_[i]);
    }
  }
  const std::vector<Var> reached = context_.walk_back(outputs, output_grads, wanted);
  newest_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!reached[i].valid()) {
      continue;
    }
    newest_.push_back(reached[i]);
    Var& sum = sums_[places[i]];
    sum = sum.valid() ? sum + reached[i] : reached[i];
  }
}

std::vector<Var> LocalGradients::all() const {
  for (int i = 0; i < context_.num_inputs(); ++i) {
    const bool is_missing =
        context_.needs(i) && !sums_[static_cast<std::size_t>(i)].valid() && is_used(i);
    require<NotSupported>(!is_missing,
                          "engine 'likelihood': no gradient reaches {} from where it is estimated, "
                          "since an op in between has no derivative; take mode=layer, or cut in "
                          "front of that op",
                          context_.op().input(i).name());
  }
  return sums_;
}

bool LocalGradients::is_used(int input) const {
  Graph& graph = context_.graph();
  const RegionId region = context_.op().regions()[0];
  const Var param = graph.var(graph.region(region).params[static_cast<std::size_t>(input)]);
  return std::ranges::any_of(schedule_region(graph, region),
                             [&](Op op) { return std::ranges::count(op.inputs(), param) > 0; });
}

}  // namespace antichain::likelihood
