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
  std::function<TrainingStep()> make;
};

/// Returns all of them.
std::vector<StepCase> training_steps();

}  // namespace antichain::bench
