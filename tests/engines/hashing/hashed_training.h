// A small training by the engine hashing, step by step, on points that belong to labels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antichain/session/session.h"

namespace antichain::hashing_tests {

using Optimiser = std::function<std::vector<Var>(Var loss)>;

struct TrainingOptions {
  std::string engine = {};  // options of the engine, "active=20,K=3"; when=always is among them
  std::vector<std::int64_t> widths = {300};
  std::int64_t features = 16;
  std::int64_t examples = 24;
  double lr = 0.02;
  std::int64_t seed = 5;
  DType compute = DType::f32;
  Optimiser optimiser = {};  // instead of Adam
  std::string device = "cpu";
  std::shared_ptr<const EngineSet> engines = {};  // instead of those of the session
};

class HashedTraining {
 public:
  explicit HashedTraining(const TrainingOptions& options);

  /// Runs the next step, on the batch of that number; returns its loss.
  double step();
  double steps(int count);
  /// Goes on as if so many steps had been run, with these states.
  void resume(int steps, const StateStore::Values& states);

  Session& session() { return session_; }
  const Executable& executable() const { return *step_; }
  Tensor state(const std::string& name) const { return states_.get("out." + name); }
  /// Returns a state of layer 0 that the engine keeps.
  Tensor own_state(const std::string& name) const { return state("0.hashing." + name); }
  /// Returns the batch of a step.
  Feeds batch(int number) const;

 private:
  TrainingOptions options_;
  Session session_;
  StateStore& states_;
  std::unique_ptr<Executable> step_;
  std::vector<std::vector<float>> prototypes_;  // of the labels
  int done_ = 0;
};

/// Returns whether all bits of two sets of states are equal.
bool same_bits(const StateStore::Values& a, const StateStore::Values& b);
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace antichain::hashing_tests
