// First guesses from earlier training steps: the states at the C-points as they were when the same
// batch was solved last, or their means over the examples of each class.
//
// They are states of the engine, saved with the model. Only programs that write states (training
// steps) have them: examples for evaluation are others, and their classes must not be told.
#pragma once

#include <optional>

#include "antichain/autodiff/engine.h"
#include "antichain/engines/multigrid/multigrid_options.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

class KeptGuess {
 public:
  /// Declares what is kept for a solve that is being built; nothing where its options ask for
  /// another guess, where no states are written, and inside of other chains.
  static std::optional<KeptGuess> of(Op chain, const SolveOptions& options,
                                     const ForwardContext& context);

  /// Returns the states at the ends of all intervals, in the order in which the chain runs.
  const Vars& ends() const { return ends_; }
  /// Returns whether they are from an earlier solve.
  Var is_known() const { return is_known_; }
  /// Returns carriers that keep the outputs of the chain for later solves when they are computed.
  Vars kept(const Vars& carriers, const Vars& outputs) const;

 private:
  KeptGuess(Op chain, const SolveOptions& options) : chain_(chain), options_(options) {}

  void read_batch();
  void read_class_means();
  Vars writes_of_batch(const Vars& ends) const;
  Vars writes_of_class_means(const Vars& ends) const;
  Vars ends_of(const Vars& outputs) const;
  Dims shape_of_ends(int state) const;  // [intervals, shape...]
  int axis_of_examples(int state) const;

  Op chain_;
  SolveOptions options_;
  Vars ends_;
  Var is_known_;
  Vars stored_;  // of each state, behind an axis of batches or classes
  Var visits_;   // i64: solves so far; of classes: [classes], 1 where one was seen
  Var labels_;
};

/// Returns how many bytes a solve keeps for its first guess, and how many of what; throws
/// InvalidArgument where that is not known before a run or more than the options allow.
struct GuessMemory {
  std::int64_t bytes = 0, copies = 0;
};
GuessMemory guess_memory(Op chain, const SolveOptions& options);

/// Returns whether a first guess is kept from one training step to the next.
bool keeps_guess(const SolveOptions& options);

}  // namespace antichain::multigrid
