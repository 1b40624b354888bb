#include "antichain/engines/scan/stack_walk.h"

#include <algorithm>
#include <unordered_map>

#include "antichain/autodiff/walk.h"
#include "antichain/base/error.h"
#include "antichain/engines/scan/jacobian_use.h"
#include "antichain/engines/scan/stage_cuts.h"
#include "antichain/engines/scan/sweep.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

namespace {

// How an op depends on one of the values that lead to it.
struct Dependence {
  Var on, of;
  BuildJacobian build;
};

// The inputs of an op that are this value.
std::vector<int> slots_of(Op op, Var value) {
  std::vector<int> slots;
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (op.input(i) == value) {
      slots.push_back(i);
    }
  }
  return slots;
}

// Multiplies along all ways through a stage and adds them up.
SparseJacobian accumulated(const std::vector<Dependence>& dependences, Var from, Var to) {
  std::unordered_map<VarId, SparseJacobian> found;
  for (const Dependence& each : dependences) {
    SparseJacobian way = each.build();
    if (each.on != from) {
      way = composed(found.at(each.on.id()), way);
    }
    const auto [place, is_first] = found.try_emplace(each.of.id(), way);
    if (!is_first) {
      place->second = added(place->second, way);
    }
  }
  return found.at(to.id());
}

}  // namespace

BuildJacobian find_stage_jacobian(Graph& graph, Var from, Var to) {
  std::vector<Dependence> dependences;
  Vars reached = {from};
  const auto is_reached = [&](Var value) {
    return is_float(value.dtype()) && std::ranges::find(reached, value) != reached.end();
  };
  for (OpId id : find_ancestors(graph, std::span(&to, 1), Reach::region,
                                [&](Var value) { return value == from; })) {
    const Op op = graph.op(id);
    bool depends = false;
    for (int i = 0; i < op.num_inputs(); ++i) {
      const Var input = op.input(i);
      const std::vector<int> slots = slots_of(op, input);
      if (slots[0] != i || !is_reached(input) || !has_derivative(op.def())) {
        continue;
      }
      BuildJacobian build = find_jacobian(op, slots);
      if (!build) {
        return {};
      }
      dependences.push_back({input, op.output(), std::move(build)});
      depends = true;
    }
    if (depends) {
      // Rules know the first output; another one that has a gradient is a way they do not see.
      for (int i = 1; i < op.num_outputs(); ++i) {
        if (is_float(op.output(i).dtype())) {
          return {};
        }
      }
      reached.push_back(op.output());
    }
  }
  if (dependences.empty() || dependences.back().of != to) {
    return {};
  }
  return [=] { return accumulated(dependences, from, to); };
}

StackWalk::StackWalk(Graph& graph, Vars starts, Var end)
    : graph_(graph), starts_(std::move(starts)), cuts_(find_cuts(graph, starts_, end)) {
  for (std::size_t n = 1; n < cuts_.size(); ++n) {
    jacobians_.push_back(find_stage_jacobian(graph, cuts_[n - 1], cuts_[n]));
  }
}

std::size_t StackWalk::first_of_run(std::size_t last) const {
  std::size_t first = last + 1;
  while (first > 0 && jacobians_[first - 1]) {
    --first;
  }
  return first;
}

int StackWalk::num_scanned() const {
  int scanned = 0;
  for (std::size_t end = jacobians_.size(); end > 0;) {
    const std::size_t first = first_of_run(end - 1), length = end - first;
    scanned += length >= 2 ? static_cast<int>(length) : 0;
    end -= std::max<std::size_t>(length, 1);
  }
  return scanned;
}

void StackWalk::sweep(std::size_t first, std::size_t last, const std::string& algorithm,
                      std::int64_t chunk, Vars& gradients) const {
  std::vector<SparseJacobian> matrices;  // from the last stage to the first
  std::vector<std::size_t> behind;       // how many of them lie behind the beginning of a stage
  for (std::size_t n = last + 1; n-- > first;) {
    SparseJacobian jacobian = jacobians_[n]();
    if (!jacobian.is_identity) {
      matrices.push_back(std::move(jacobian));
    }
    behind.push_back(matrices.size());
  }
  Vars vectors = {flat_examples(gradients[last + 1])};
  const Sweep plan = plan_sweep(static_cast<int>(matrices.size()), algorithm, chunk);
  const Vars found = swept(plan, std::move(matrices), vectors[0]);
  vectors.insert(vectors.end(), found.begin(), found.end());
  for (std::size_t i = 0; i < behind.size(); ++i) {
    gradients[last - i] = reshape(vectors[behind[i]], cuts_[last - i].shape());
  }
}

Vars StackWalk::gradients(Var end_gradient, const std::string& algorithm,
                          std::int64_t chunk) const {
  ensure(!cuts_.empty(), "there is no way from the starts to the end");
  Vars between(cuts_.size()), found(starts_.size());
  between.back() = end_gradient;
  for (std::size_t n = cuts_.size(); n-- > 0 && between[n].valid();) {
    // What a stage adds to the gradients of the starts, with its beginning held.
    Vars wanted = starts_;
    if (n > 0) {
      wanted.push_back(cuts_[n - 1]);
      const std::size_t first = first_of_run(n - 1);
      if (!between[n - 1].valid() && n - first >= 2) {
        sweep(first, n - 1, algorithm, chunk, between);
      }
    }
    const Vars own = walk_back(graph_, std::span(&cuts_[n], 1), std::span(&between[n], 1), wanted);
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (own[i].valid()) {
        found[i] = found[i].valid() ? found[i] + own[i] : own[i];
      }
    }
    if (n > 0 && !between[n - 1].valid()) {
      between[n - 1] = own.back();
    }
  }
  return found;
}

}  // namespace antichain::scan
