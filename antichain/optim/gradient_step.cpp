#include "antichain/optim/gradient_step.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/grad.h"
#include "antichain/autodiff/walk.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/rows/row_squares.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::optim {

namespace {

void require_options(const StepPlan& plan) {
  const StepOptions& options = plan.options;
  require_not_negative(plan.optimiser, "weight_decay", plan.weight_decay);
  require_positive(plan.optimiser, "clip_norm", options.clip_norm.value_or(1));
  require_positive(plan.optimiser, "clip_value", options.clip_value.value_or(1));
  require(options.accumulate > 0, "{}: accumulate must be above 0, got {}", plan.optimiser,
          options.accumulate);
  require_positive(plan.optimiser, "loss_scaling.scale", options.loss_scaling.scale);
  require(options.loss_scaling.grow_after >= 0,
          "{}: loss_scaling.grow_after must not be negative, got {}", plan.optimiser,
          options.loss_scaling.grow_after);
  require(!options.name.empty(), "{}: the name is empty", plan.optimiser);
}

// The parts of a step that do not depend on the rule.
class StepBuilder {
 public:
  StepBuilder(Var loss, const StepPlan& plan)
      : graph_(loss.graph()),
        options_(plan.options),
        step_(unwritten_step_count(plan.optimiser, graph_, plan.options.name)) {
    parameters_ = trained_parameters(plan.optimiser, loss, options_.parameters);
    choose_lazy_rows(plan);
    use_ = {truth(), number(1), options_.clip_value.value_or(kNoLimit)};
    lr_ = plan.lr(step_);
    differentiate(loss);
    if (options_.accumulate > 1) {
      accumulate();
    }
    if (options_.loss_scaling.grow_after > 0) {
      skip_if_not_finite();
    }
    if (options_.clip_norm) {
      clip_norm();
    }
  }

  std::vector<Var> finish(const StepPlan& plan,
                          const std::function<Var(const ParameterStep&)>& rule) {
    const Var next = cast(step_, f64) + 1.0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const bool decays = !options_.decays || options_.decays(parameters_[i]);
      updates_.push_back(rule({.parameter = parameters_[i],
                               .gradient = gradients_[i],
                               .lr = lr_,
                               .number = next,
                               .weight_decay = decays ? plan.weight_decay : 0,
                               .decays = decays,
                               .use = use_,
                               .lazy_rows = lazy_[i],
                               .lock_free = lock_free_[i],
                               .marked_rows = marked_[i]}));
    }
    updates_.push_back(add_update(graph_, state_name(step_), cast(use_.when, i64)));
    add_updates_of_engines();
    return updates_;
  }

 private:
  Var number(double value) { return scalar(graph_, f64, value); }
  Var truth() { return scalar(graph_, boolean, 1); }
  Var own_buffer(std::string_view what, Var initial) {
    return buffer(options_.name + "." + std::string(what), initial);
  }

  // Calls f(op, its engine) for the ops that name an engine and take a parameter of this step.
  template <class F>
  void for_each_engine_op(F&& f) {
    if (!graph_.engines()) {
      return;
    }
    const std::size_t built = graph_.num_ops();  // what f builds names no engine
    for (std::uint32_t id = 0; id < built; ++id) {
      const Op op = graph_.op(OpId{id});
      const EngineChoice choice = engine_choice(op);
      if (!choice.is_backprop() && std::ranges::any_of(op.inputs(), [this](Var input) {
            return std::ranges::find(parameters_, input) != parameters_.end();
          })) {
        f(op, graph_.engines()->find(choice.name()));
      }
    }
  }

  // How engines want the parameters updated of which they differentiate some rows.
  std::unordered_map<VarId, RowUpdates> parameters_by_rows() {
    std::unordered_map<VarId, RowUpdates> found;
    for_each_engine_op([&found](Op op, const GradientEngine& engine) {
      for (int i = 0; i < op.num_inputs(); ++i) {
        if (const RowUpdates updates = engine.row_updates(op, i); updates != RowUpdates::none) {
          found[op.input(i).id()] = updates;
        }
      }
    });
    return found;
  }

  void add_updates_of_engines() {
    for_each_engine_op([this](Op op, const GradientEngine& engine) {
      const std::vector<Var> own = engine.updates(op);
      updates_.insert(updates_.end(), own.begin(), own.end());
    });
  }

  void choose_lazy_rows(const StepPlan& plan) {
    const auto by_rows = plan.needs_all_rows.empty() ? parameters_by_rows()
                                                     : std::unordered_map<VarId, RowUpdates>();
    for (Var parameter : parameters_) {
      const auto by_engine = by_rows.find(parameter.id());
      lazy_.push_back((options_.lazy_rows && options_.lazy_rows(parameter)) ||
                      by_engine != by_rows.end());
      lock_free_.push_back(by_engine != by_rows.end() &&
                           by_engine->second == RowUpdates::lock_free);
      marked_.emplace_back();
      require<NotSupported>(!lazy_.back() || plan.needs_all_rows.empty(),
                            "{}: parameter '{}' cannot have lazy rows, {}", plan.optimiser,
                            state_name(parameter), plan.needs_all_rows);
      require<ShapeError>(!lazy_.back() || parameter.rank() > 0,
                          "{}: parameter '{}' is one number and has no lazy rows", plan.optimiser,
                          state_name(parameter));
    }
  }

  void differentiate(Var loss) {
    const LossScaling& scaling = options_.loss_scaling;
    const GradOptions by{.engine = options_.engine, .at = options_.gradient_at};
    if (scaling.scale == 1 && scaling.grow_after == 0) {
      gradients_ = grad(loss, parameters_, by);
      return;
    }
    scale_ = scaling.grow_after > 0 ? own_buffer("loss_scale", number(scaling.scale))
                                    : number(scaling.scale);
    gradients_ = vjp({loss}, {cast(scale_, loss.dtype())}, parameters_, by);
    use_.scale = 1.0 / scale_;
  }

  // Sums of gradients; the step waits for the last of its runs.
  void accumulate() {
    const Var run = own_buffer("run", scalar(graph_, i64, 0));
    const Var keep = cast(not_equal(run, 0), f64);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const DType dtype = parameters_[i].dtype(), wide = buffer_dtype(dtype);
      const Var total = buffer(state_name(parameters_[i]) + ".gradient_sum",
                               zeros(graph_, wide, parameters_[i].shape()));
      const GradientUse use{truth(), use_.scale, kNoLimit};
      const Var gradient = cast(gradients_[i], wide);
      const Var sum = lazy_[i] ? accumulate_on_rows(i, state_name(total), gradient, use, keep)
                               : update_states(accumulate_update_def(), {state_name(total)},
                                               gradient, use, {keep});
      gradients_[i] = lazy_[i] ? sum : cast(sum, dtype);  // rows are rounded where they are read
      updates_.push_back(sum);
    }
    const Var next = modulo(run + 1, options_.accumulate);
    updates_.push_back(assign(graph_, state_name(run), next));

    use_.when = equal(next, 0);
    use_.scale = number(1.0 / static_cast<double>(options_.accumulate));
  }

  // Rows that were not used since the sum began are not looked at.
  Var accumulate_on_rows(std::size_t i, const std::string& total, Var gradient,
                         const GradientUse& use, Var keep) {
    const std::string marks = state_name(buffer(state_name(parameters_[i]) + ".used_rows",
                                                full(graph_, boolean, {gradient.dim(0)}, 0)));
    const Var sum = accumulate_rows(total, marks, gradient, use, keep);
    marked_[i] = read_state(graph_, marks);
    return sum;
  }

  // The sum of squares of a gradient.
  Var squares(std::size_t i) {
    if (!lazy_[i]) {
      return sum_of_squares(gradients_[i]);
    }
    return marked_[i].valid() ? sum_row_squares(gradients_[i], marked_[i], parameters_[i].dtype())
                              : sum_row_squares(gradients_[i]);
  }

  void skip_if_not_finite() {
    Var finite = truth();
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      const Var gradient = gradients_[i];
      if (lazy_[i]) {  // squares in f64: they overflow for no gradient of another type
        finite = logical_and(finite, is_finite(squares(i)));
      } else if (numel(gradient.shape()) != Dim(0)) {
        finite =
            logical_and(finite, logical_and(is_finite(min(gradient)), is_finite(max(gradient))));
      }
    }
    // At the last run of a step: good steps are counted, the scale follows.
    const Var good = own_buffer("good_steps", scalar(graph_, i64, 0));
    const Var counted = select(finite, good + 1, 0);
    const Var full = equal(counted, options_.loss_scaling.grow_after);
    const Var factor = select(finite, select(full, number(2), number(1)), number(0.5));
    const Var now = use_.when;
    updates_.push_back(assign(graph_, state_name(scale_), select(now, scale_ * factor, scale_)));
    updates_.push_back(
        assign(graph_, state_name(good), select(now, select(full, 0, counted), good)));
    use_.when = logical_and(now, finite);
  }

  void clip_norm() {
    Var total = number(0);
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      total = total + squares(i);
    }
    use_.scale = use_.scale * minimum(*options_.clip_norm / (sqrt(total) * use_.scale), 1.0);
  }

  Graph& graph_;
  const StepOptions& options_;
  Var step_, lr_, scale_;
  std::vector<Var> parameters_, gradients_, updates_;
  std::vector<bool> lazy_, lock_free_;  // by parameter: whether its rows are
  std::vector<Var> marked_;             // the used ones of those, where gradients are accumulated
  GradientUse use_;
};

}  // namespace

std::string ParameterStep::buffer(std::string_view what, double initial) const {
  const std::string name = state_name(parameter) + "." + std::string(what);
  const DType dtype = buffer_dtype(parameter.dtype());
  return state_name(antichain::buffer(name, full(graph(), dtype, parameter.shape(), initial)));
}

Var ParameterStep::used_gradient() const {
  const Var wide = cast(gradient, buffer_dtype(gradient.dtype()));
  const Var scaled = wide * cast(use.scale, wide.dtype());
  return std::isfinite(use.limit) ? clip(scaled, -use.limit, use.limit) : scaled;
}

Var ParameterStep::update(const OpDef& rule, const std::vector<std::string>& buffers,
                          const std::vector<Operand>& numbers) const {
  std::vector<std::string> states = {state_name(parameter)};
  states.insert(states.end(), buffers.begin(), buffers.end());
  return lazy_rows ? update_rows(rule, states, gradient, use, numbers,
                                 {.selection = marked_rows, .lock_free = lock_free})
                   : update_states(rule, states, gradient, use, numbers);
}

std::vector<Var> gradient_step(Var loss, const StepPlan& plan,
                               const std::function<Var(const ParameterStep&)>& rule) {
  require_loss(plan.optimiser, loss);
  require_options(plan);
  return StepBuilder(loss, plan).finish(plan, rule);
}

Var unwritten_step_count(std::string_view optimiser, Graph& graph, const std::string& name) {
  const Var step = step_count(graph, name);
  require(step.producer().control_edges().empty(),
          "{}: the graph already has an optimiser called '{}'; give this one another name",
          optimiser, name);
  return step;
}

std::vector<Var> trained_parameters(std::string_view optimiser, Var loss,
                                    const ParameterFilter& filter) {
  Graph& graph = loss.graph();
  std::unordered_map<std::string, Var> used;  // what the loss reads
  for (OpId id : find_ancestors(graph, std::vector<Var>{loss}, Reach::graph)) {
    if (const Op op = graph.op(id); op.def().effect == Effect::reads_state) {
      used[op.states()[0]] = op.output();
    }
  }
  std::vector<Var> chosen;
  for (Var parameter : parameters(graph)) {
    const auto read = used.find(state_name(parameter));
    if (filter ? !filter(parameter) : read == used.end()) {
      continue;
    }
    require(read == used.end() || read->second == parameter,
            "{}: parameter '{}' is written after the loss reads it, by another optimiser perhaps; "
            "build one of them in a graph of its own",
            optimiser, state_name(parameter));
    chosen.push_back(parameter);
  }
  require(!chosen.empty(), "{}: {}", optimiser,
          filter ? "the filter takes none of the graph's parameters"
                 : "the loss depends on no parameter");
  return chosen;
}

Var sum_of_squares(Var x) {
  const Var wide = cast(x, buffer_dtype(x.dtype()));
  return cast(sum(square(wide)), f64);
}

Var norm(Var x) { return sqrt(sum_of_squares(x)); }

Var ratio_or_one(Var a, Var b, Var positive) { return select(greater(positive, 0.0), a / b, 1.0); }

void require_loss(std::string_view optimiser, Var loss) {
  require(loss.valid(), "{}: there is no loss", optimiser);
  require<ShapeError>(loss.rank() == 0,
                      "{}: the loss must be one number, its shape is {}; take its mean", optimiser,
                      to_string(loss.shape()));
}

void require_fraction(std::string_view optimiser, std::string_view option, double value) {
  require(value >= 0 && value < 1, "{}: {} must be within [0, 1), got {}", optimiser, option,
          value);
}

void require_positive(std::string_view optimiser, std::string_view option, double value) {
  require(std::isfinite(value) && value > 0, "{}: {} must be above 0, got {}", optimiser, option,
          value);
}

void require_not_negative(std::string_view optimiser, std::string_view option, double value) {
  require(std::isfinite(value) && value >= 0, "{}: {} must not be negative, got {}", optimiser,
          option, value);
}

}  // namespace antichain::optim
