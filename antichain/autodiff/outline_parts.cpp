// Engines for parts of a model that are no region yet: each becomes a `call`.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/outline.h"
#include "antichain/autodiff/walk.h"
#include "antichain/graph/clone.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

namespace {

constexpr int kNoPart = -1;

// "encoder" of "encoder.layer_0".
std::string outermost(const std::string& scope) { return scope.substr(0, scope.find('.')); }

void require_known_parts(const Graph& graph) {
  const std::vector<EnginePlan::Part>& parts = graph.engine_plan().parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto is_in_part = [&](const std::string& scope) {
      return is_in_scope(scope, parts[i].scope);
    };
    if (graph.is_part_taken(i) || std::ranges::any_of(graph.scopes(), is_in_part)) {
      continue;
    }
    std::set<std::string> known;
    for (const std::string& scope : graph.scopes()) {
      known.insert(outermost(scope));
    }
    known.erase("");
    fail<InvalidArgument>("no part of the model is called '{}'; its parts are: {}", parts[i].scope,
                          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
}

// The loss that the user holds was computed as it was built; a call that runs forward in another
// way would have the gradient of another one.
void require_part_as_built(const Graph& graph, const EnginePlan::Part& part) {
  if (graph.engines() == nullptr) {
    return;  // which is said when the call is differentiated
  }
  const GradientEngine& engine = graph.engines()->find(part.engine.name());
  require<NotSupported>(!engine.replaces_forward(engine.settings(part.engine)),
                        "engine '{}' runs regions forward in its own way, and the part '{}' of the "
                        "model has no region: it was computed as it was built",
                        part.engine.str(), part.scope);
}

// An engine that wants the losses of the examples takes region ops of its part with all the rest.
bool takes_whole_part(const Graph& graph, const EngineChoice& choice) {
  return graph.engines() != nullptr && graph.engines()->find(choice.name()).wants_example_losses();
}

// Copies what depends on the xs, parts into regions of their own. An op of a part waits in the
// part's group until somebody outside of it needs a value.
class PartsOutliner {
 public:
  PartsOutliner(Graph& graph, const std::vector<Var>& ys, const std::vector<Var>& xs, PartsOf way)
      : graph_(graph),
        way_(way),
        cloner_(graph, graph),
        groups_(graph.engine_plan().parts().size()) {
    std::unordered_set<VarId> starts;
    for (Var x : xs) {
      depends_.insert(x.id());
      starts.insert(graph.origin(x).id());
    }
    for (Var y : ys) {
      read_outside_.insert(y.id());
    }
    const std::vector<OpId> ops = find_ancestors(
        graph, ys, Reach::graph, [&starts](Var value) { return starts.contains(value.id()); });
    for (OpId id : ops) {
      for (Var input : graph.op(id).inputs()) {
        readers_[input.id()].push_back(id);
      }
    }
    for (OpId id : ops) {
      visit(graph.op(id));
    }
  }

  Var copy_of(Var value) {
    if (const auto waiting = waits_in_.find(value.id()); waiting != waits_in_.end()) {
      close(waiting->second);
    }
    const auto found = moved_.find(value.id());
    return found == moved_.end() ? value : found->second;
  }

 private:
  int part_of(Op op) const {
    const int part = graph_.engine_plan().part_of(op.scope());
    if (part == kNoPart) {
      return kNoPart;
    }
    const EngineChoice& choice =
        graph_.engine_plan().parts()[static_cast<std::size_t>(part)].engine;
    const bool has_call =
        differentiates(choice) &&
        (!graph_.is_part_taken(static_cast<std::size_t>(part)) || takes_whole_part(graph_, choice));
    return has_call ? part : kNoPart;
  }

  bool differentiates(const EngineChoice& engine) const {
    if (engine.is_backprop()) {
      return false;
    }
    return way_ == PartsOf::whole_way || graph_.engines() == nullptr ||
           !graph_.engines()->find(engine.name()).wants_example_losses();
  }

  void visit(Op op) {
    const std::vector<Var> inputs = op.inputs(), outputs = op.outputs();
    const bool depends =
        std::ranges::any_of(inputs, [this](Var input) { return depends_.contains(input.id()); });
    const bool is_x =
        std::ranges::any_of(outputs, [this](Var output) { return depends_.contains(output.id()); });
    if (!depends || is_x) {
      return;
    }
    for (Var output : outputs) {
      depends_.insert(output.id());
    }
    const int part = part_of(op);
    const auto is_moved = [&](Var input) {
      const auto waiting = waits_in_.find(input.id());
      if (waiting != waits_in_.end() && waiting->second != part) {
        close(waiting->second);
      }
      return moved_.contains(input.id());
    };
    const auto moved_inputs = std::ranges::count_if(inputs, is_moved);
    if (part == kNoPart && moved_inputs == 0) {
      return;
    }
    require<NotSupported>(op.def().effect == Effect::none,
                          "engines for parts of a model cannot reach through {}", op);
    if (part != kNoPart) {
      groups_[static_cast<std::size_t>(part)].push_back(op);
      for (Var output : outputs) {
        waits_in_[output.id()] = part;
      }
      return;
    }
    for (Var input : inputs) {
      cloner_.map(input, copy_of(input));
    }
    const std::vector<Var> copies = cloner_.copy(op);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      moved_[outputs[i].id()] = copies[i];
    }
  }

  void close(int part) {
    const EnginePlan::Part& chosen = graph_.engine_plan().parts()[static_cast<std::size_t>(part)];
    require_part_as_built(graph_, chosen);
    std::vector<Op> ops;
    ops.swap(groups_[static_cast<std::size_t>(part)]);
    std::unordered_set<OpId> inside;
    for (Op op : ops) {
      inside.insert(op.id());
    }
    const LocationGuard location(graph_, ops.front().location());
    RegionScope scope(graph_);
    Cloner body(graph_, graph_);
    std::vector<Var> originals, results;
    for (Op op : ops) {
      for (Var input : op.inputs()) {
        if (!made_inside_.contains(input.id())) {
          const auto found = moved_.find(input.id());
          body.map(input, graph_.capture(found == moved_.end() ? input : found->second));
        }
      }
      const std::vector<Var> outputs = op.outputs(), copies = body.copy(op);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        made_inside_.insert(outputs[i].id());
        if (is_read_outside(outputs[i], inside)) {
          originals.push_back(outputs[i]);
          results.push_back(copies[i]);
        }
      }
    }
    const RegionId region = scope.finish(results);
    const Op call =
        graph_.add(call_def(), scope.captures(), {{"engine", chosen.engine.attribute()}}, {region});
    for (std::size_t i = 0; i < originals.size(); ++i) {
      moved_[originals[i].id()] = call.output(static_cast<int>(i));
    }
    made_inside_.clear();
    for (Op op : ops) {
      for (Var output : op.outputs()) {
        waits_in_.erase(output.id());
      }
    }
  }

  bool is_read_outside(Var value, const std::unordered_set<OpId>& inside) const {
    const auto readers = readers_.find(value.id());
    return read_outside_.contains(value.id()) ||
           (readers != readers_.end() && std::ranges::any_of(readers->second, [&](OpId reader) {
              return !inside.contains(reader);
            }));
  }

  Graph& graph_;
  PartsOf way_;
  Cloner cloner_;
  std::vector<std::vector<Op>> groups_;      // by part: ops that wait for their call
  std::unordered_map<VarId, int> waits_in_;  // the part that a value will come from
  std::unordered_map<VarId, Var> moved_;     // what stands for values
  std::unordered_set<VarId> depends_;        // on the xs
  std::unordered_set<VarId> read_outside_;   // the ys
  std::unordered_set<VarId> made_inside_;    // of the group that is being closed
  std::unordered_map<VarId, std::vector<OpId>> readers_;
};

}  // namespace

std::vector<Var> outline_parts(const std::vector<Var>& ys, const std::vector<Var>& xs,
                               PartsOf way) {
  Graph& graph = ys[0].graph();
  require_known_parts(graph);
  PartsOutliner outliner(graph, ys, xs, way);
  std::vector<Var> results;
  for (Var y : ys) {
    results.push_back(outliner.copy_of(y));
  }
  return results;
}

}  // namespace antichain
