// Trainer: runs a compiled training step over a data set, epoch after epoch, with evaluation, early
// stopping, checkpoints, event files and progress.
//
//   Trainer trainer({.step = step, .batches = batches, .states = session.states(),
//                    .evaluations = {{"test", evaluation, test_set}}},
//                   {.epochs = 10, .folder = "runs/first"});
//   TrainResult result = trainer.run();
//
// A run that was killed goes on at its last checkpoint when it is started again with `resume`, and
// ends with the same bits as one that was not.
#pragma once

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antichain/data/batches.h"
#include "antichain/graph/state_store.h"
#include "antichain/runtime/executable.h"
#include "antichain/train/checkpoint.h"
#include "antichain/train/evaluation.h"

namespace antichain {

class EventFile;
class FolderLock;

/// What is trained, on what. All of it must outlive the trainer.
struct Training {
  const Executable& step;  // returns the mean loss of the batch, and writes the updates
  data::Batches& batches;
  StateStore& states;
  // The first one is the one that progress shows and that early stopping watches.
  std::vector<Evaluation> evaluations = {};
};

/// Tells how far a run has come, after every step.
struct TrainProgress {
  std::int64_t epoch = 0, epochs = 0;  // the current one counts from 1
  std::int64_t step = 0, steps = 0;    // done and in all
  std::int64_t first_step = 0;         // done when this sitting began
  std::int64_t samples = 0;            // trained on in this sitting
  double loss = 0;                     // of this step
  double accuracy = 0;                 // as of the last evaluation; NaN before the first
};

struct TrainOptions {
  std::int64_t epochs = 10;
  // For checkpoints and events, held for this training alone while it runs; empty: nothing is
  // written.
  std::filesystem::path folder = {};
  std::shared_ptr<const FolderLock> lock = {};  // of the folder, where the caller holds it already
  bool resume = false;                          // go on at the newest checkpoint in the folder
  std::int64_t checkpoint_every = 0;            // steps; 0: only at the end of epochs, but at least
  double checkpoint_seconds = 5;  // so many seconds apart: flushing to the disk takes its time
  std::int64_t keep = 2;          // how many checkpoints
  // Epochs without a better first evaluation before the run ends with the states of the best epoch;
  // 0: all epochs are run, and the last states stay.
  std::int64_t patience = 0;
  std::int64_t evaluate_every = 1;  // epochs
  std::int64_t max_steps = 0;  // ends the run after that many steps; 0: at the end of the epochs
  // Losses in a row that may be no numbers: for updates that leave such steps out by themselves, as
  // loss scaling does. They count as steps and are in no mean.
  std::int64_t most_bad_steps = 0;
  std::function<void(const TrainProgress&)> progress = {};
  std::function<bool()> stop = {};  // asked after every step; true: write a checkpoint and return
};

struct TrainResult {
  bool finished = true;                 // false: stopped on request
  double train_loss = 0;                // mean over the last epoch
  std::map<std::string, Score> scores;  // by the evaluation's name, of the states that stayed
  std::int64_t epochs = 0, steps = 0;   // done in all
  std::int64_t samples = 0;
  double seconds = 0;  // of training, without evaluation; all sittings together
  History history;

  /// Returns whether the run ended with losses that are no numbers: nothing can be done with its
  /// states.
  bool is_diverged() const;
};

/// Throws InvalidArgument where a run that has not ended cannot be: it has so many epochs of so
/// many steps.
void require_position(const TrainState& state, std::int64_t epochs, std::int64_t steps_per_epoch);

class Trainer {
 public:
  Trainer(Training training, TrainOptions options);
  ~Trainer();

  /// Trains to the end. Throws DataError when the loss is no longer a number (see most_bad_steps),
  /// when somebody else trains in the folder, and when the checkpoint there is not one of this
  /// model and these data.
  TrainResult run();

 private:
  void restore();
  void restore(Checkpoint checkpoint);
  void check_position(const TrainState& state) const;
  bool run_epoch();
  void run_step(const data::Batch& batch);
  void finish_step();
  bool is_good(double loss);
  void finish_epoch();
  void note(const std::string& curve, double value);
  void note(const std::string& evaluation, const Score& score);
  void note_reports();
  bool out_of_patience() const;
  void keep_best(const Score& score);
  void save();
  void report_progress(double loss) const;

  Training training_;
  TrainOptions options_;
  std::shared_ptr<const FolderLock> lock_;
  TrainState state_;
  NamedTensors best_;
  std::map<std::string, Score> scores_;
  std::unique_ptr<EventFile> events_;
  // A step that was started and whose loss is not known yet: a device still computes it.
  struct StartedStep {
    std::size_t results;  // where the loss will be
    std::int64_t samples;
  };
  std::optional<StartedStep> started_;
  std::array<Results, 2> results_;  // of that step and of the one that is started meanwhile
  double train_loss_ = 0;
  std::int64_t bad_steps_ = 0;  // in a row
  bool stopped_ = false;
  // Up to when time is counted: since then at least one step is on its way.
  std::chrono::steady_clock::time_point counted_until_;
  double saved_at_ = 0;                                 // time_now() of the last checkpoint
  std::int64_t steps_before_ = 0, samples_before_ = 0;  // of earlier sittings
  std::int64_t steps_per_epoch_ = 0, all_steps_ = 0, note_every_ = 1;
};

}  // namespace antichain
