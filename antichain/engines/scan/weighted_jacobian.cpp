#include "antichain/engines/scan/weighted_jacobian.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/autodiff/walk.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::scan {

namespace {

constexpr int kNoWeight = -1;

// Some columns of the matrix that a state is multiplied by.
struct Weight {
  Var matrix;
  bool transposed;
  int part;  // that is multiplied
  std::int64_t first, count;

  bool operator==(const Weight&) const = default;
  // As g ↦ weight g adds to the gradient of the part.
  Var applied() const {
    const Var columns =
        slice(matrix, {{.axis = transposed ? 0 : 1, .start = first, .stop = first + count}});
    return transposed ? transpose(columns) : columns;
  }
};

struct Term {
  int part, weight;
  Var diagonal;  // none while it is only found out which terms there are

  bool has_key_of(const Term& other) const { return part == other.part && weight == other.weight; }
};
using Terms = std::vector<Term>;

// Follows the terms of all values from the states on.
class TermWalk {
 public:
  // Without `builds`, nothing is added to the graph.
  TermWalk(const Vars& states, bool builds) : builds_(builds) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      states_.push_back(states[i]);
      terms_[states[i].id()] = {
          {static_cast<int>(i), kNoWeight, builds ? ones_like(states[i]) : Var()}};
    }
  }

  // Says why the outputs of an op have no terms; empty if they have. `changes` holds for values
  // that differ between steps.
  template <class Changes>
  std::string add(Op op, const Changes& changes) {
    const auto moves = [&](Var input) { return terms_.contains(input.id()); };
    if (std::ranges::none_of(op.inputs(), moves) || &op.def() == &stop_gradient_def()) {
      return {};
    }
    if (&op.def() == &matmul_def()) {
      return add_product(op, changes);
    }
    if (&op.def() == &split_def()) {
      return add_split(op);
    }
    return add_elementwise(op);
  }

  Terms terms_of(Var value) const {
    const auto found = terms_.find(value.id());
    return found == terms_.end() ? Terms() : found->second;
  }
  const std::vector<Weight>& weights() const { return weights_; }

 private:
  template <class Changes>
  std::string add_product(Op op, const Changes& changes) {
    const auto state = std::ranges::find(states_, op.input(0));
    const Var matrix = op.input(1);
    if (state == states_.end() || op.attrs().get<bool>("transpose_a") || changes(matrix) ||
        matrix.rank() != 2 || !op.output().dim(-1).is_constant()) {
      return op.describe() + " is no product of a state and a weight that stays the same";
    }
    const auto part = static_cast<int>(state - states_.begin());
    const int weight = number_of(
        {matrix, op.attrs().get<bool>("transpose_b"), part, 0, op.output().dim(-1).constant()});
    terms_[op.output().id()] = {{part, weight, builds_ ? ones_like(op.output()) : Var()}};
    return {};
  }

  std::string add_split(Op op) {
    const int rank = op.input(0).rank();
    const std::int64_t axis = op.attrs().get<std::int64_t>("axis");
    std::int64_t first = 0;
    for (int i = 0; i < op.num_outputs(); ++i) {
      if ((axis < 0 ? axis + rank : axis) != rank - 1 || !op.output(i).dim(-1).is_constant()) {
        return op.describe() + " does not cut units from units";
      }
    }
    const Terms from = terms_of(op.input(0));
    std::vector<Terms> cut(static_cast<std::size_t>(op.num_outputs()));
    for (const Term& term : from) {
      if (term.weight == kNoWeight) {
        return op.describe() + " cuts a state";
      }
      const Vars diagonals = builds_ ? op_jvp(op, {term.diagonal}) : Vars(cut.size());
      first = 0;
      for (std::size_t i = 0; i < cut.size(); ++i) {
        Weight columns = weights_[static_cast<std::size_t>(term.weight)];
        columns.first += first;
        columns.count = op.output(static_cast<int>(i)).dim(-1).constant();
        first += columns.count;
        cut[i].push_back({term.part, number_of(columns), diagonals[i]});
      }
    }
    for (std::size_t i = 0; i < cut.size(); ++i) {
      terms_[op.output(static_cast<int>(i)).id()] = cut[i];
    }
    return {};
  }

  std::string add_elementwise(Op op) {
    if (!is_elementwise(op.def()) || op.num_outputs() != 1) {
      return op.describe() + " is neither element-wise nor a product with a weight";
    }
    Terms result;
    for (int i = 0; i < op.num_inputs(); ++i) {
      const Terms terms = terms_of(op.input(i));
      if (!terms.empty() && !(op.input(i).shape() == op.output().shape())) {
        return op.describe() + " repeats a value that depends on a state";
      }
      for (const Term& term : terms) {
        if (std::ranges::none_of(result, [&](const Term& t) { return t.has_key_of(term); })) {
          result.push_back({term.part, term.weight, Var()});
        }
      }
    }
    for (Term& term : result) {
      term.diagonal = builds_ ? moved(op, term) : Var();
    }
    std::erase_if(result, [&](const Term& term) { return builds_ && !term.diagonal.valid(); });
    if (!result.empty()) {
      terms_[op.output().id()] = result;
    }
    return {};
  }

  // The terms of one kind of an op's inputs, by its forward rule.
  Var moved(Op op, const Term& kind) const {
    Vars tangents;
    for (Var input : op.inputs()) {
      Var diagonal;
      for (const Term& term : terms_of(input)) {
        diagonal = term.has_key_of(kind) ? term.diagonal : diagonal;
      }
      tangents.push_back(diagonal);
    }
    return op_jvp(op, tangents)[0];
  }

  int number_of(const Weight& weight) {
    const auto found = std::ranges::find(weights_, weight);
    const auto number = static_cast<int>(found - weights_.begin());
    if (found == weights_.end()) {
      weights_.push_back(weight);
    }
    return number;
  }

  bool builds_;
  Vars states_;
  std::unordered_map<VarId, Terms> terms_;
  std::vector<Weight> weights_;
};

// Says why parts do not have one number of units each, behind the batch axes.
std::string why_not_units(const JointState& joint) {
  if (joint.parts.empty() || joint.is_diagonal()) {
    return "its Jacobians are diagonals";
  }
  for (const JointState::Part& part : joint.parts) {
    if (part.shape.size() != joint.batch_axes.size() + 1 || !(part.size == joint.parts[0].size)) {
      return "its states are not rows of equal size";
    }
  }
  return joint.parts[0].size.is_constant() ? "" : "how many units a state has is not known";
}

// The weights that the states after a step depend on, by their old numbers; says why they do not
// fit.
std::string find_weights(const TermWalk& walk, const JointState& joint, const Vars& after,
                         std::vector<int>& used) {
  for (Var value : after) {
    for (const Term& term : walk.terms_of(value)) {
      if (term.weight != kNoWeight && std::ranges::count(used, term.weight) == 0) {
        used.push_back(term.weight);
        if (!(Dim(walk.weights()[static_cast<std::size_t>(term.weight)].count) ==
              joint.parts[0].size)) {
          return "a weight is not square";
        }
      }
    }
  }
  return used.empty() ? "no weight multiplies its states" : "";
}

// What the states after a step are made of.
WeightedForm form_of(const TermWalk& walk, const Vars& after, const std::vector<int>& used) {
  WeightedForm form{.states = static_cast<std::int64_t>(after.size())};
  for (const int weight : used) {
    form.weight_to.push_back(walk.weights()[static_cast<std::size_t>(weight)].part);
  }
  for (std::size_t part = 0; part < after.size(); ++part) {
    for (const Term& term : walk.terms_of(after[part])) {
      const auto from = static_cast<std::int64_t>(part);
      if (term.weight == kNoWeight) {
        form.diagonals.push_back({term.part, from});
      } else {
        form.products.push_back({std::ranges::find(used, term.weight) - used.begin(), from});
      }
    }
  }
  return form;
}

}  // namespace

std::string why_not_weighted(Op chain) {
  Graph& graph = chain.graph();
  const JointState joint(chain);
  if (std::string reason = why_not_units(joint); !reason.empty()) {
    return reason;
  }
  if (chain.input(joint.parts[0].state).dtype() != DType::f32) {
    return "its states are not f32";
  }
  const ChainLayout layout(chain);
  const RegionInfo& body = graph.region(chain.regions()[0]);
  const Vars params = graph.vars(body.params), results = graph.vars(body.results);
  Vars before, after;
  for (const JointState::Part& part : joint.parts) {
    before.push_back(params[static_cast<std::size_t>(1 + part.state)]);
    after.push_back(results[static_cast<std::size_t>(part.state)]);
  }
  std::unordered_set<VarId> changing;
  for (int i = 0; i < 1 + layout.first_captured(); ++i) {
    changing.insert(params[static_cast<std::size_t>(i)].id());
  }
  const auto changes = [&](Var value) { return changing.contains(value.id()); };
  TermWalk walk(before, false);
  for (Op op : schedule_region(graph, chain.regions()[0])) {
    if (std::string reason = walk.add(op, changes); !reason.empty()) {
      return reason;
    }
    if (std::ranges::any_of(op.inputs(), changes)) {
      for (Var output : op.outputs()) {
        changing.insert(output.id());
      }
    }
  }
  std::vector<int> used;
  if (std::string reason = find_weights(walk, joint, after, used); !reason.empty()) {
    return reason;
  }
  return fits_weighted_scan(form_of(walk, after, used), joint.parts[0].size.constant())
             ? ""
             : "its weights are more or larger than there are kernels for";
}

WeightedJacobian weighted_jacobian(const JointState& joint, const Vars& before, const Vars& after) {
  Graph& graph = after[0].graph();
  TermWalk walk(before, true);
  const auto is_state = [&](Var value) { return std::ranges::count(before, value) > 0; };
  for (const OpId id : find_ancestors(graph, after, Reach::region, is_state)) {
    const std::string reason = walk.add(graph.op(id), [](Var) { return false; });
    ensure(reason.empty(), "a chain that has weighted Jacobians has none: {}", reason);
  }
  std::vector<int> used;
  const std::string reason = find_weights(walk, joint, after, used);
  ensure(reason.empty(), "a chain that has weighted Jacobians has none: {}", reason);
  WeightedJacobian result{.form = form_of(walk, after, used)};
  for (const int weight : used) {
    result.weights.push_back(walk.weights()[static_cast<std::size_t>(weight)].applied());
  }
  for (Var value : after) {
    for (const Term& term : walk.terms_of(value)) {
      (term.weight == kNoWeight ? result.diagonals : result.coefficients).push_back(term.diagonal);
    }
  }
  return result;
}

}  // namespace antichain::scan
