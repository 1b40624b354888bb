// Graph: an arena of ops in SSA form, with nested regions for control flow.
//
// Invariants (checked by antichain/graph/verify.h):
// - An op only uses values of its own region, made before it: build order is a topological order.
// - Regions are closed. A value of an outer region that is used inside is captured: it becomes a
//   parameter of the region and an input of the op that runs the region. A finished region is
//   immutable and may be shared.
// - Ops without effect and without regions are hash-consed: the same op on the same inputs is one
//   op (common subexpression elimination, CSE).
// - Ops with effects are ordered by control edges in build order, per state and for external
//   effects.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "antichain/graph/dim.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/graph/ids.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/op_def.h"
#include "antichain/graph/op_table.h"
#include "antichain/graph/stable_vector.h"
#include "antichain/graph/var.h"

namespace antichain {

class Evaluator;  // antichain/graph/evaluator.h: computes ops as they are added, in eager mode
class EngineSet;  // antichain/autodiff/engine.h: who differentiates regions that name an engine

/// A dimension as users write it: a number, a name ("batch") or an expression.
class DimSpec {
 public:
  DimSpec(int size) : spec_(Dim(size)) {}  // implicit, all of them: see above
  DimSpec(std::int64_t size) : spec_(Dim(size)) {}
  DimSpec(Dim dim) : spec_(dim) {}
  DimSpec(const char* name) : spec_(std::string(name)) {}
  DimSpec(std::string name) : spec_(std::move(name)) {}

  Dim resolve(DimPool& pool) const;

 private:
  std::variant<Dim, std::string> spec_;
};

/// Describes a value that outlives a run.
struct StateInfo {
  std::string name;
  VarType type;
  Var initial;             // evaluated once, when no value of that name exists yet
  bool trainable = false;  // whether optimisers update it
  // Whether `initial`, which may read other states, gives it anew at any time: it is not saved, and
  // is computed again after other states have been set from a file.
  bool is_derived = false;
};

struct RegionInfo {
  std::vector<VarId> params;
  std::vector<VarId> results;
  std::vector<OpId> ops;  // in build order
};

/// Says whether an op may be one that is already there; an op that waits for others may not.
enum class Sharing { of_equal_ops, none };

class Graph {
 public:
  using Location = Place;

  Graph();
  /// Makes a graph whose gradients may use these engines.
  explicit Graph(std::shared_ptr<const EngineSet> engines);
  /// Makes an empty graph that shares dims and engines with another one, for copies of parts of it.
  Graph(std::shared_ptr<DimPool> dims, std::shared_ptr<const EngineSet> engines);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { LiveGraphs::remove(number_); }

  // Building.
  /// Declares a value that is fed at every run.
  Var input(std::string_view name, DType dtype, const std::vector<DimSpec>& shape,
            Location location = Location::current());
  /// Returns the named dim; give its range on first use, and the size to reckon with before what
  /// is chosen by it (engines look at it when they differentiate).
  Dim dim(std::string_view name, const DimInfo& info = {}) { return dims_->symbol(name, info); }
  /// Applies an operator; equal applications are one op. Throws when the inputs do not fit.
  Op add(const OpDef& def, std::vector<Var> inputs, Attrs attrs = {},
         std::vector<RegionId> regions = {}, Location location = Location::current(),
         Sharing sharing = Sharing::of_equal_ops);
  /// Declares state; throws InvalidArgument when the name is taken by another type.
  const StateInfo& add_state(StateInfo state);
  /// Orders two ops: `after` runs when `before` has run, and makes it run.
  void add_control_edge(Op before, Op after);
  /// Chooses engines for the parts of the model that is built from here on; see EnginePlan.
  void choose_engines(EnginePlan plan);
  const EnginePlan& engine_plan() const { return engine_plan_; }
  /// Returns what a region op built now keeps as its engine: the choice or, where that is open,
  /// what the plan says for the scope that is open.
  std::string engine_for(const EngineChoice& choice);
  /// Returns whether a part of the plan has been given to a region op.
  bool is_part_taken(std::size_t part) const { return plan_taken_[part]; }
  /// Returns the full names of the scopes that ops were built in.
  const std::vector<std::string>& scopes() const { return scopes_; }
  /// Makes this an eager graph: the evaluator sees every op of the root region as it is added.
  void set_evaluator(std::shared_ptr<Evaluator> evaluator) { evaluator_ = std::move(evaluator); }
  Evaluator* evaluator() const { return evaluator_.get(); }
  /// Replaces sizes that were unknown by what a run has found; eager mode only.
  void refine_shape(Var var, Dims shape);
  void set_name(Var var, std::string_view name);
  /// Returns `name` prefixed by the scope that is open: "encoder.weight".
  std::string qualify(std::string_view name) const;
  /// Returns `var` as seen from the region that is being built, capturing it where it is from
  /// outside.
  Var capture(Var var);
  /// Returns a number that no other draw of this graph has: draws are told apart by their order
  /// alone, so that a cast more between them, in another precision, changes none of them.
  std::int64_t next_random_stream() { return ++random_streams_; }
  /// Returns the value that a captured parameter stands for, as its own region knows it; other
  /// values as they are.
  Var origin(Var var);

  // Reading.
  DimPool& dims() { return *dims_; }
  const std::shared_ptr<DimPool>& dim_pool() const { return dims_; }
  const std::shared_ptr<const EngineSet>& engines() const { return engines_; }
  std::size_t num_ops() const { return ops_.size(); }
  std::size_t num_vars() const { return vars_.size(); }
  std::size_t num_regions() const { return regions_.size(); }
  Op op(OpId id) { return {this, id}; }
  Var var(VarId id) { return {this, id}; }
  const RegionInfo& region(RegionId id) const { return regions_[id.value].info; }
  std::vector<Var> vars(std::span<const VarId> ids);
  /// Returns the region that the next op goes to.
  RegionId current_region() const { return open_regions_.back(); }
  /// Returns the step counters of the chain and loop bodies being built, outermost first.
  std::vector<Var> open_steps();
  RegionId region_of(Var var) const { return vars_[var.id().value].region; }
  RegionId region_of(Op op) const { return ops_[op.id().value].region; }
  bool is_region_param(Var var) const { return !vars_[var.id().value].producer.valid(); }
  const std::vector<Op>& inputs() const { return inputs_; }
  /// Returns the state called `name`, or nullptr.
  const StateInfo* find_state(std::string_view name) const;
  const std::deque<StateInfo>& states() const { return states_; }
  const std::vector<DimConstraint>& constraints(Op op) const;
  /// Returns the symbols for sizes that this op finds out when it runs.
  const std::vector<std::uint32_t>& found_sizes(Op op) const;
  /// Returns the ops that find out the sizes which this op, its outputs and its regions mention.
  std::vector<Op> size_finders(Op op);
  /// Returns the op that last read or wrote a state, for tests and printing.
  Var current_read(std::string_view state) const;

 private:
  friend class Var;
  friend class Op;
  friend class RegionScope;
  friend class ScopeGuard;
  friend class LocationGuard;
  friend class RegionSwitch;
  friend class PlanPause;

  // Nodes are small, and what many of them share lies elsewhere: a walk over a large graph takes as
  // long as the memory that it goes through.
  static constexpr std::uint32_t kNone = 0;  // index of what most nodes do not have
  struct VarNode {
    const VarType* type = nullptr;  // in types_
    OpId producer = {};             // none for region parameters
    std::uint32_t index = 0;        // among the producer's outputs or the region's parameters
    RegionId region = {};
    VarId outer = {};            // what a captured parameter stands for, one region up
    std::uint32_t name = kNone;  // in names_
  };
  struct OpNode {
    const OpDef* def = nullptr;
    const Attrs* attrs = nullptr;  // in attrs_
    Location location;
    std::uint32_t first_input = 0, num_inputs = 0;  // in op_inputs_
    VarId first_output;
    std::uint32_t num_outputs = 0;
    RegionId region;
    std::uint32_t scope = 0;
    std::uint32_t regions = kNone;  // in op_regions_
    std::uint32_t control = kNone;  // in control_
  };
  struct RegionNode {
    RegionInfo info;
    std::unordered_map<VarId, VarId> captured;  // outer value -> parameter, while it is open
    std::vector<VarId> capture_order;
    VarId step;          // the parameter that counts steps, in bodies of chains and loops
    OpId last_external;  // what later external effects of this region wait for
  };
  struct Effects {  // what later ops on one state must wait for
    OpId last_write;
    std::vector<OpId> reads;  // since the last write
  };

  Var add_var(VarType type, OpId producer, std::uint32_t index);
  OpId find_equal(std::size_t hash, const OpDef& def, std::span<const VarId> inputs,
                  const Attrs& attrs) const;
  std::span<const VarId> inputs_of(const OpNode& node) const {
    return {op_inputs_.data() + node.first_input, node.num_inputs};
  }
  std::vector<ControlEdge>& control_edges_of(OpId op);
  void order_effects(Op op);
  Op evaluated(Op op);
  void note_found_sizes(Op op);

  const LiveGraphs::Number number_ = LiveGraphs::add();
  std::shared_ptr<DimPool> dims_;
  std::shared_ptr<const EngineSet> engines_;
  std::shared_ptr<Evaluator> evaluator_;
  EnginePlan engine_plan_;
  std::vector<bool> plan_taken_;  // by part
  int plan_pauses_ = 0;
  StableVector<VarNode> vars_;
  StableVector<OpNode> ops_;
  StableVector<RegionNode> regions_;
  std::vector<RegionId> open_regions_;
  std::unordered_set<VarType> types_;
  std::unordered_set<Attrs> attrs_;
  std::vector<VarId> op_inputs_;
  std::vector<std::vector<RegionId>> op_regions_;
  OpTable cons_;
  std::vector<std::string> names_;
  std::vector<std::string> scopes_;
  std::uint32_t current_scope_ = 0;
  const Location* location_override_ = nullptr;
  std::vector<std::vector<ControlEdge>> control_;
  std::unordered_map<OpId, std::vector<DimConstraint>> constraints_;
  std::unordered_map<OpId, std::vector<std::uint32_t>> found_sizes_;
  std::unordered_map<std::uint32_t, OpId> size_finders_;  // by symbol
  std::vector<Op> inputs_;
  std::int64_t random_streams_ = 0;
  std::deque<StateInfo> states_;
  std::unordered_map<std::string_view, const StateInfo*> states_by_name_;
  std::unordered_map<std::string, Effects> effects_;
};

inline Var::Var(Graph* graph, VarId id) : graph_(graph), id_(id), number_(graph->number_) {}

/// Prefixes the names of everything built while it lives: "encoder" within "model" is
/// "model.encoder".
class ScopeGuard {
 public:
  ScopeGuard(Graph& graph, std::string_view name);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Graph& graph_;
  std::uint32_t previous_;
};

/// Gives everything built while it lives one place: derived ops point at the user's code. The
/// outermost guard wins, unless `force` is set.
class LocationGuard {
 public:
  LocationGuard(Graph& graph, const Place& location, bool force = false);
  ~LocationGuard();
  LocationGuard(const LocationGuard&) = delete;
  LocationGuard& operator=(const LocationGuard&) = delete;

 private:
  Graph& graph_;
  const Place* previous_;
};

/// Keeps the engine plan from what is built while it lives: what derivative rules build is no part
/// of a model.
class PlanPause {
 public:
  explicit PlanPause(Graph& graph) : graph_(graph) { ++graph_.plan_pauses_; }
  ~PlanPause() { --graph_.plan_pauses_; }
  PlanPause(const PlanPause&) = delete;
  PlanPause& operator=(const PlanPause&) = delete;

 private:
  Graph& graph_;
};

/// Builds in the root region while it lives, even when a nested region is open.
class RegionSwitch {
 public:
  explicit RegionSwitch(Graph& graph);
  ~RegionSwitch();
  RegionSwitch(const RegionSwitch&) = delete;
  RegionSwitch& operator=(const RegionSwitch&) = delete;

 private:
  Graph& graph_;
  std::vector<RegionId> open_regions_;
};

/// Opens a region; ops built while it is open belong to it.
class RegionScope {
 public:
  explicit RegionScope(Graph& graph);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

  /// Adds a parameter.
  Var param(const VarType& type, std::string_view name = {});
  /// Adds the parameter that counts steps.
  Var step_param();
  /// Closes the region; its results may also be parameters or captured values.
  RegionId finish(const std::vector<Var>& results);
  /// Returns the outer values that became parameters behind the declared ones; call after finish().
  std::vector<Var> captures() const;

 private:
  Graph& graph_;
  RegionId region_;
  bool open_ = true;
};

}  // namespace antichain
