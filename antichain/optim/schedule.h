// Learning rates as functions of the step, built into the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::optim {

/// A learning rate for every step, counted from 0.
class Schedule {
 public:
  using Build = std::function<Var(Var step)>;

  Schedule(double lr);  // implicit: the same for all steps
  /// Makes a schedule of one's own; `build` gets the step as f64 and returns the rate as f64.
  explicit Schedule(Build build) : build_(std::move(build)) {}

  /// Returns the learning rate (f64) of a step (i64). With step_count(graph) it can be printed or
  /// logged.
  Var operator()(Var step) const;

 private:
  Build build_;
};

/// Returns how many steps the optimiser of this name has taken (i64): before this run's step when
/// called before the optimiser is built, after it otherwise.
Var step_count(Graph& graph, std::string_view name = "optimiser");

/// Multiplies by `factor` after every `steps` steps: lr * factor^floor(t / steps).
Schedule decay_every(std::int64_t steps, double lr, double factor = 0.1);
/// Multiplies by `factor` at each of these steps.
Schedule decay_at(const std::vector<std::int64_t>& steps, double lr, double factor = 0.1);
/// Goes from lr to `last` along half a cosine, and stays there (Loshchilov and Hutter, 2017,
/// equation 5, without restarts).
Schedule cosine(std::int64_t steps, double lr, double last = 0);
/// Puts a warm-up in front: step t < steps has the fraction from + (1 - from) (t + 1) / steps of
/// the first rate of `then`, which begins after that.
Schedule warm_up(std::int64_t steps, const Schedule& then, double from = 0);

struct BatchScaling {
  std::int64_t batch = 0;
  std::int64_t base_batch = 256;   // the batch that the schedule was made for
  std::int64_t warm_up_steps = 0;  // from the rate of the schedule itself
};
/// Multiplies a schedule by batch / base_batch, behind a warm-up (Goyal et al., 2017, sections 2.1
/// and 2.2).
Schedule scaled_to_batch(const Schedule& schedule, const BatchScaling& scaling);

}  // namespace antichain::optim
