#include "antichain/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::optim {

namespace {

void require_rate(const char* schedule, double lr) {
  require(std::isfinite(lr) && lr > 0, "{}: lr must be above 0, got {}", schedule, lr);
}

void require_steps(const char* schedule, std::int64_t steps) {
  require(steps > 0, "{}: the number of steps must be above 0, got {}", schedule, steps);
}

void require_factor(const char* schedule, double factor) {
  require(std::isfinite(factor) && factor > 0, "{}: factor must be above 0, got {}", schedule,
          factor);
}

Var at_zero(const Schedule& schedule, Graph& graph) { return schedule(scalar(graph, i64, 0)); }

}  // namespace

Schedule::Schedule(double lr) {
  require_rate("learning rate", lr);
  build_ = [lr](Var step) { return scalar(step.graph(), f64, lr); };
}

Var Schedule::operator()(Var step) const {
  require(build_ != nullptr, "learning rate: the schedule is empty");
  const Var rate = build_(cast(step, f64));
  require(rate.valid() && rate.dtype() == f64 && rate.rank() == 0,
          "learning rate: a schedule must return one f64");
  return rate;
}

Var step_count(Graph& graph, std::string_view name) {
  const std::string full = graph.qualify(std::string(name) + ".step");
  if (graph.find_state(full) != nullptr) {
    return read_state(graph, full);
  }
  return buffer(std::string(name) + ".step", scalar(graph, i64, 0));
}

Schedule decay_every(std::int64_t steps, double lr, double factor) {
  require_steps("decay_every", steps);
  require_rate("decay_every", lr);
  require_factor("decay_every", factor);
  return Schedule([=](Var step) {
    return lr * pow(scalar(step.graph(), f64, factor), floor(step / static_cast<double>(steps)));
  });
}

Schedule decay_at(const std::vector<std::int64_t>& steps, double lr, double factor) {
  require_rate("decay_at", lr);
  require_factor("decay_at", factor);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    require(steps[i] > (i == 0 ? 0 : steps[i - 1]),
            "decay_at: the steps must be above 0 and rise, step {} follows {}", steps[i],
            i == 0 ? 0 : steps[i - 1]);
  }
  return Schedule([=](Var step) {
    Var rate = scalar(step.graph(), f64, lr);
    for (std::int64_t from : steps) {
      rate = select(greater_equal(step, static_cast<double>(from)), rate * factor, rate);
    }
    return rate;
  });
}

Schedule cosine(std::int64_t steps, double lr, double last) {
  require_steps("cosine", steps);
  require_rate("cosine", lr);
  require(std::isfinite(last) && last >= 0, "cosine: last must not be negative, got {}", last);
  return Schedule([=](Var step) {
    const Var part = minimum(step / static_cast<double>(steps), 1.0);
    return last + 0.5 * (lr - last) * (1.0 + cos(std::numbers::pi * part));
  });
}

Schedule warm_up(std::int64_t steps, const Schedule& then, double from) {
  require_steps("warm_up", steps);
  require(std::isfinite(from) && from >= 0, "warm_up: from must not be negative, got {}", from);
  return Schedule([=](Var step) {
    const auto length = static_cast<double>(steps);
    const Var part = from + (1 - from) * (step + 1.0) / length;
    const Var later = cast(maximum(step - length, 0.0), i64);
    return select(less(step, length), part * at_zero(then, step.graph()), then(later));
  });
}

Schedule scaled_to_batch(const Schedule& schedule, const BatchScaling& scaling) {
  require(scaling.batch > 0 && scaling.base_batch > 0,
          "scaled_to_batch: batches must be above 0, got {} and {}", scaling.batch,
          scaling.base_batch);
  require(scaling.warm_up_steps >= 0, "scaled_to_batch: warm_up_steps must not be negative, got {}",
          scaling.warm_up_steps);
  const double factor =
      static_cast<double>(scaling.batch) / static_cast<double>(scaling.base_batch);
  const Schedule scaled([=](Var step) { return factor * schedule(cast(step, i64)); });
  return scaling.warm_up_steps == 0 ? scaled : warm_up(scaling.warm_up_steps, scaled, 1 / factor);
}

}  // namespace antichain::optim
