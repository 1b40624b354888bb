// The training steps that are timed against PyTorch, as benchmarks/peers/pytorch_steps.py does
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/step_models.h"

namespace antichain::bench {

/// A model, its gradient and its optimiser, compiled, with what it is fed.
struct TrainingStep {
  std::unique_ptr<Session> session;
  Executable executable;
  Feeds feeds;
};

struct StepCase {
  std::string name;
  std::int64_t batch;                                  // examples in a step
  std::function<StepModel(std::int64_t batch)> model;  // asked late: what it is fed is large
  DType precision = f32;                               // that it computes in
  bool tf32 = false;  // products of f32 may round their factors to tf32, where a device can

  /// Makes a session on a device, with the precision of products that the case wants.
  std::unique_ptr<Session> session(const std::string& device) const;
  /// Compiles the step.
  TrainingStep make(const CompilerOptions& options, const std::string& device = "cpu") const;
};

/// Returns all of them.
std::vector<StepCase> training_steps();
/// Returns steps of models with branches that do not need each other; no peer times these.
std::vector<StepCase> branching_steps();

}  // namespace antichain::bench
