#include "antichain/passes/chains/split_chains.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain {

namespace {

bool is_sum(const OpDef& def) { return &def == &sum_def() || &def == &mean_def(); }

// Whether an op can be computed for all steps at once.
bool can_be_mapped(Op op) {
  if (&op.def() == &matmul_def()) {
    return op.input(0).rank() == 2 && op.input(1).rank() == 2;
  }
  return is_sum(op.def()) || is_elementwise(op.def()) || &op.def() == &slice_def() ||
         &op.def() == &sum_to_def();
}

// Whether an op is reason enough to compute it for all steps at once; others only go with such ops.
bool is_worth_mapping(const OpDef& def) {
  return &def == &matmul_def() || &def == &sum_to_def() || is_sum(def);
}

class ChainSplit {
 public:
  // `before_read` says of every state whether its values before each step have a reader.
  ChainSplit(Op chain, const std::vector<bool>& before_read)
      : chain_(chain),
        graph_(chain.graph()),
        layout_(chain),
        params_(graph_.vars(graph_.region(chain.regions()[0]).params)),
        results_(graph_.vars(graph_.region(chain.regions()[0]).results)),
        ops_(schedule_region(graph_, chain.regions()[0])) {
    const auto has_effect = [](Op op) {
      return op.def().effect != Effect::none || !op.control_edges().empty();
    };
    if (chain.attrs().get<std::int64_t>("slots") > 0 || std::ranges::any_of(ops_, has_effect)) {
      return;
    }
    for (Op op : ops_) {
      for (Var input : op.inputs()) {
        readers_[input.id()].push_back(op.id());
      }
    }
    for (Var result : results_) {
      ++times_returned_[result.id()];
    }
    if (times_returned_[params_[0].id()] > 0) {
      return;
    }
    find_sums(before_read);
    if (sums_.size() == num_states()) {
      sums_.clear();  // nothing is carried from step to step: such a chain is left as it is
      return;
    }
    find_early();
    find_late();
    for (int i = layout_.first_x(); i < layout_.first_captured(); ++i) {
      has_unread_ = has_unread_ || !is_read_inside(params_[static_cast<std::size_t>(1 + i)]);
    }
  }

  bool changes_anything() const {
    return !early_.empty() || !late_.empty() || !sums_.empty() || has_unread_;
  }

  Vars build() {
    compute_early();
    choose_ys();
    const ChainResult rest = build_rest();
    for (std::size_t i = 0, next = 0; i < num_states(); ++i) {
      if (!sums_.contains(i)) {
        outside_[params_[1 + i].id()] = {rest.before[next++], true};
      }
    }
    for (std::size_t i = 0; i < ys_.size(); ++i) {
      outside_[ys_[i].id()] = {rest.ys[i], true};
    }
    for (Op op : ops_) {
      if (late_.contains(op.id())) {
        outside_[op.output().id()] = compute_outside(op);
      }
    }
    Vars outputs(static_cast<std::size_t>(chain_.num_outputs()));
    for (std::size_t i = 0, next = 0; i < num_states(); ++i) {
      const auto found = sums_.find(i);
      if (found == sums_.end()) {
        outputs[i] = rest.last[next];
        outputs[num_states() + i] = rest.before[next++];
      } else {
        outputs[i] = chain_.input(static_cast<int>(i)) + sum(all_steps(found->second), {0});
        outputs[num_states() + i] = chain_.output(static_cast<int>(num_states() + i));  // unread
      }
    }
    for (std::size_t i = num_states(); i < results_.size(); ++i) {
      outputs[num_states() + i] = all_steps(results_[i]);
    }
    return outputs;
  }

 private:
  std::size_t num_states() const { return static_cast<std::size_t>(layout_.states); }
  bool is_made_by(const std::unordered_set<OpId>& ops, Var value) const {
    return !graph_.is_region_param(value) && ops.contains(value.producer().id());
  }
  bool is_made_by_any(const std::unordered_set<OpId>& ops, Op op) const {
    return std::ranges::any_of(op.inputs(), [&](Var input) { return is_made_by(ops, input); });
  }

  // States that every step only adds something to.
  void find_sums(const std::vector<bool>& before_read) {
    for (std::size_t i = 0; i < num_states(); ++i) {
      const Var before = params_[1 + i], after = results_[i];
      if (before_read[i] || !is_float(after.dtype()) || !made_by(after, add_def()) ||
          readers_[before.id()].size() != 1 || times_returned_[before.id()] > 0 ||
          !readers_[after.id()].empty() || times_returned_[after.id()] != 1) {
        continue;
      }
      const Op add = after.producer();
      const int own = add.input(0) == before ? 0 : 1;
      const Var added = add.input(1 - own);
      if (add.input(own) == before && added.shape() == before.shape()) {
        sums_.emplace(i, added);
        additions_.insert(add.id());
      }
    }
  }

  // Products, and what follows them, that need no state.
  void find_early() {
    const auto is_known = [this](Var value) {
      if (graph_.is_region_param(value)) {
        const auto at = std::ranges::find(params_, value) - params_.begin();
        return at > layout_.states;
      }
      return made_by(value, constant_def()) || early_.contains(value.producer().id());
    };
    for (Op op : ops_) {
      if (can_be_mapped(op) && std::ranges::all_of(op.inputs(), is_known) &&
          (is_worth_mapping(op.def()) || is_made_by_any(early_, op))) {
        early_.insert(op.id());
      }
    }
  }

  // What no state after a step depends on, and only such ops or results read.
  void find_late() {
    std::unordered_set<VarId> carried;
    for (std::size_t i = 0; i < num_states(); ++i) {
      if (!sums_.contains(i)) {
        carried.insert(results_[i].id());
      }
    }
    std::unordered_set<OpId> candidates;
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
      if (early_.contains(op->id())) {
        continue;
      }
      bool is_carried = false;
      for (Var output : op->outputs()) {
        is_carried = is_carried || carried.contains(output.id());
      }
      if (is_carried) {
        for (Var input : op->inputs()) {
          carried.insert(input.id());
        }
        continue;
      }
      const auto can_read_mapped = [&](OpId id) {
        return candidates.contains(id) || additions_.contains(id);
      };
      if (!additions_.contains(op->id()) && can_be_mapped(*op) &&
          std::ranges::all_of(readers_[op->output().id()], can_read_mapped) &&
          std::ranges::count(op->inputs(), params_[0]) == 0) {
        candidates.insert(op->id());
      }
    }
    for (Op op : ops_) {
      if (candidates.contains(op.id()) &&
          (is_worth_mapping(op.def()) || is_made_by_any(late_, op))) {
        late_.insert(op.id());
      }
    }
  }

  // What the chain that is left returns beside its states, once each.
  void choose_ys() {
    const auto add = [this](Var value) {
      if (!graph_.is_region_param(value) && !made_by(value, constant_def()) &&
          !is_made_by(early_, value) && !is_made_by(late_, value) &&
          std::ranges::count(ys_, value) == 0) {
        ys_.push_back(value);
      }
    };
    for (std::size_t i = num_states(); i < results_.size(); ++i) {
      add(results_[i]);
    }
    for (const auto& [state, value] : sums_) {
      add(value);
    }
    for (Op op : ops_) {
      if (late_.contains(op.id())) {
        std::ranges::for_each(op.inputs(), add);
      }
    }
  }

  // Whether what is left of the body reads or returns a value.
  bool is_read_inside(Var value) const {
    const auto reads_inside = [this](OpId id) {
      return !early_.contains(id) && !late_.contains(id) && !additions_.contains(id);
    };
    const auto found = readers_.find(value.id());
    return (found != readers_.end() && std::ranges::any_of(found->second, reads_inside)) ||
           std::ranges::count(results_, value) > 0;
  }

  // Also finds out which of it the steps read.
  void compute_early() {
    for (int i = layout_.states; i < chain_.num_inputs(); ++i) {
      outside_[params_[static_cast<std::size_t>(1 + i)].id()] = {chain_.input(i),
                                                                 i < layout_.first_captured()};
    }
    for (Op op : ops_) {
      if (early_.contains(op.id())) {
        outside_[op.output().id()] = compute_outside(op);
        const auto reads_inside = [&](OpId id) {
          return !early_.contains(id) && !late_.contains(id) && !additions_.contains(id);
        };
        const auto carried = std::span(results_).first(num_states());
        if (std::ranges::any_of(readers_[op.output().id()], reads_inside) ||
            std::ranges::count(carried, op.output()) > 0) {
          entering_.push_back(op.output());
        }
      }
    }
  }

  ChainResult build_rest() {
    Vars states, xs, entering;
    for (int i = 0; i < layout_.first_captured(); ++i) {
      const Var param = params_[static_cast<std::size_t>(1 + i)];
      if (i >= layout_.states) {
        if (is_read_inside(param)) {
          xs.push_back(chain_.input(i));
          entering.push_back(param);
        }
      } else if (!sums_.contains(static_cast<std::size_t>(i))) {
        states.push_back(chain_.input(i));
      }
    }
    for (Var value : entering_) {
      if (const Mapped known = outside_.at(value.id()); known.is_mapped) {
        xs.push_back(known.value);
        entering.push_back(value);
      }
    }
    const auto body = [&](Var step, const Vars& inner_states, const Vars& inner_xs) -> StepResult {
      Cloner cloner(graph_, graph_);
      cloner.map(params_[0], step);
      std::size_t next = 0;
      for (std::size_t i = 0; i < num_states(); ++i) {
        if (!sums_.contains(i)) {
          cloner.map(params_[1 + i], inner_states[next++]);
        }
      }
      for (std::size_t i = 0; i < inner_xs.size(); ++i) {
        cloner.map(entering[i], inner_xs[i]);
      }
      for (Var value : entering_) {
        if (const Mapped known = outside_.at(value.id()); !known.is_mapped) {
          cloner.map(value, graph_.capture(known.value));
        }
      }
      for (int i = layout_.first_captured(); i < chain_.num_inputs(); ++i) {
        cloner.map(params_[static_cast<std::size_t>(1 + i)], graph_.capture(chain_.input(i)));
      }
      for (Op op : ops_) {
        if (!early_.contains(op.id()) && !late_.contains(op.id()) &&
            !additions_.contains(op.id())) {
          cloner.copy(op);
        }
      }
      StepResult result{.states = {}, .ys = cloner(ys_)};
      for (std::size_t i = 0; i < num_states(); ++i) {
        if (!sums_.contains(i)) {
          result.states.push_back(cloner(results_[i]));
        }
      }
      return result;
    };
    const Attrs& attrs = chain_.attrs();
    return chain(states, xs, body,
                 {.engine = attrs.get<std::string>("engine"),
                  .reverse = attrs.get<bool>("reverse"),
                  .length = attrs.get<Dim>("length")},
                 chain_.location());
  }

  Mapped outside(Var value) {
    if (made_by(value, constant_def())) {
      return {graph_.add(constant_def(), {}, value.producer().attrs()).output(), false};
    }
    return outside_.at(value.id());
  }

  Dim length() const { return chain_.attrs().get<Dim>("length"); }
  Var all_steps(Var value) { return with_mapped_axis(outside(value), value.shape(), length()); }

  Mapped compute_outside(Op op) {
    std::vector<Mapped> inputs;
    for (Var input : op.inputs()) {
      inputs.push_back(outside(input));
    }
    return vmap_op(op, inputs, length())[0];
  }

  Op chain_;
  Graph& graph_;
  ChainLayout layout_;
  Vars params_, results_;
  std::vector<Op> ops_;
  std::unordered_map<VarId, std::vector<OpId>> readers_;
  std::unordered_map<VarId, int> times_returned_;
  std::map<std::size_t, Var> sums_;  // what is added, by state
  std::unordered_set<OpId> additions_, early_, late_;
  bool has_unread_ = false;  // a sequence that no step reads any more
  Vars ys_, entering_;
  std::unordered_map<VarId, Mapped> outside_;
};

std::unordered_set<VarId> read_values(std::span<const Op> ops, std::span<const Var> results) {
  std::unordered_set<VarId> read;
  for (Op op : ops) {
    for (Var input : op.inputs()) {
      read.insert(input.id());
    }
  }
  for (Var result : results) {
    read.insert(result.id());
  }
  return read;
}

void copy_splitting_chains(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
  const std::unordered_set<VarId> read = read_values(ops, results);
  for (Op op : ops) {
    const Vars twins = cloner.copy(op);
    if (&op.def() != &chain_def() || !op.control_edges().empty()) {
      continue;
    }
    const ChainLayout layout(op);
    std::vector<bool> before_read;
    for (int i = 0; i < layout.states; ++i) {
      before_read.push_back(read.contains(op.output(layout.first_before() + i).id()));
    }
    const Op twin = twins[0].producer();
    ChainSplit split(twin, before_read);
    if (split.changes_anything()) {
      const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
      const Vars outputs = split.build();
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        cloner.map(op.output(static_cast<int>(i)), outputs[i]);
      }
    }
  }
}

}  // namespace

GraphCopy split_chains(const GraphCopy& source) {
  return copy_graph(source, {.copy_ops = copy_splitting_chains});
}

}  // namespace antichain
