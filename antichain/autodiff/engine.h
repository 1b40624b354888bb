// Gradient engines: ways to differentiate one region of a graph.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/base/settings.h"
#include "antichain/base/support.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/graph/graph.h"

namespace antichain {

struct WideLayers;  // antichain/ops/wide/wide_layers.h

/// What an engine promises of its gradients.
enum class Guarantee {
  exact,      // equal to back-propagation up to rounding
  iterative,  // converges to it with every cycle
  unbiased,   // right on average, with a stated standard error
  sampled,    // right where it looks, which is not everywhere
};
std::string_view name(Guarantee guarantee);

/// Says under which conditions a region runs.
struct ForwardContext {
  bool has_memory_budget = false;  // values in between may have to be computed again
  // Whether what is measured may be kept as states (with_report). Programs that write no state stay
  // so: several threads may run them.
  bool keeps_reports = false;
};

/// How an optimiser had better update a parameter of which an engine leaves most rows of the
/// gradient at zero: those rows stay as they are.
enum class RowUpdates {
  none,       // the gradient is of all rows
  ordered,    // what is added up for a row is used once: the same bits in every run
  lock_free,  // each example changes its rows at once, while others do (HOGWILD)
};

/// Differentiates one region op (call, chain, loop, cond) of a graph. An engine is to a region what
/// OpDef::vjp is to an op: it sees the op with its output gradients and builds the gradients of its
/// inputs as ordinary ops, in the graph's current region. So engines compose: what an engine builds
/// can be differentiated, fused and planned.
class GradientEngine {
 public:
  virtual ~GradientEngine() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual Guarantee guarantee() const = 0;
  /// Returns what can be set about it, in a region's EngineChoice or for a whole session.
  virtual std::vector<OptionSpec> options() const { return {}; }
  /// Says whether it can differentiate the op with respect to the inputs marked in `needed`.
  virtual Support supports(Op region_op, const std::vector<bool>& needed) const = 0;
  /// Says how it goes about a region op that it supports, where it has a choice, and why.
  virtual std::string explain(Op region_op) const;
  /// Returns a gradient per input; none for inputs that the context does not need.
  virtual std::vector<Var> differentiate(VjpContext& context) const = 0;

  /// Says whether, set like that, it runs regions forward in its own way. The model's outputs are
  /// those then, so such an engine is named where the region is built and not in `grad`.
  virtual bool replaces_forward(const Settings& settings) const;
  /// Returns what stands for the outputs of a region op when it runs, as ordinary ops in the
  /// current region; none: the op as it is. Asked when a graph is compiled, after derivatives were
  /// built, and op by op in eager mode.
  virtual std::optional<std::vector<Var>> forward(Op region_op,
                                                  const ForwardContext& context) const;
  /// Adds what it keeps from one step to the next about layers that are about to name it (hash
  /// tables, for example): states of its own, which become inputs of their op, so that the forward
  /// run and the gradient read the same values.
  virtual void add_own_states(WideLayers& layers, const EngineChoice& choice) const;
  /// Returns writes of states of its own that belong to a training step, behind the updates of the
  /// parameters, for an op that names it.
  virtual std::vector<Var> updates(Op op) const;
  /// Says how a parameter that is an input of an op had better be updated.
  virtual RowUpdates row_updates(Op op, int input) const;
  /// Says whether it wants to be given the losses of the examples rather than their mean: whoever
  /// knows them names them in GradOptions::at.
  virtual bool wants_example_losses() const { return false; }
  /// Says whether a recurrence that is linear in its state had better be built as an affine_scan,
  /// all steps at once, than as a chain that names it.
  virtual bool scans_recurrences() const { return false; }

  /// Returns how it is set by a choice: its options, then those of the session, then fallbacks.
  /// Throws InvalidArgument on an option that it does not have and on a value that does not fit.
  Settings settings(const EngineChoice& choice) const;
  /// Returns how it is set for a region op; as the session says where the op names another engine.
  Settings settings(Op region_op) const;
  /// Sets what regions start from that name this engine. Throws InvalidArgument likewise.
  void set_defaults(const std::vector<EngineOption>& options);

 private:
  std::vector<EngineOption> defaults_;
};

class EngineSet;
/// Returns whether an engine of the plan wants the losses of the examples.
bool wants_example_losses(const EngineSet& engines, const EnginePlan& plan);

/// Returns the engine that an op names; an open choice where it names none.
EngineChoice engine_choice(Op op);

/// Holds the engines of a session.
class EngineSet {
 public:
  void add(std::unique_ptr<GradientEngine> engine);
  /// Returns the engine called `name`; throws InvalidArgument that lists the names otherwise.
  const GradientEngine& find(std::string_view name) const;
  /// Throws InvalidArgument if there is no such engine, or if it has no such options.
  void check(const EngineChoice& choice) const { find(choice.name()).settings(choice); }
  /// Sets what regions start from that name the engine of `choice`.
  void set_defaults(const EngineChoice& choice);
  /// Returns whether a region op names an engine that runs it forward in its own way.
  bool replaces_forward(Op op) const;
  /// Returns what stands for the outputs of an op when it runs; its own outputs unless its engine
  /// says otherwise.
  std::vector<Var> forward(Op op, const ForwardContext& context) const;
  const std::vector<std::unique_ptr<GradientEngine>>& all() const { return engines_; }

 private:
  std::vector<std::unique_ptr<GradientEngine>> engines_;
};

}  // namespace antichain
