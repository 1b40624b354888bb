// The training steps that are timed against PyTorch, as benchmarks/peers/pytorch_steps.py does
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antichain/antichain.h"

namespace antichain::bench {

/// A model, its gradient and its optimiser, compiled, with what it is fed.
struct TrainingStep {
  std::unique_ptr<Session> session;
  Executable executable;
  Feeds feeds;
};

struct StepCase {
  std::string name;
  std::function<TrainingStep(const OptimiserOptions&, const std::string& device)> make_on;
  TrainingStep make(const OptimiserOptions& options) const { return make_on(options, "cpu"); }
};

/// Returns all of them.
std::vector<StepCase> training_steps();
/// Returns steps of models with branches that do not need each other; no peer times these.
std::vector<StepCase> branching_steps();

}  // namespace antichain::bench
