// Checkpoints: everything that a training run needs to go on as if nothing had happened.
//
// A checkpoint is a folder "step-00001200" ("-final" at the end of a run) with model.safetensors
// (all states of the session: parameters, statistics, optimiser, random numbers), best.safetensors
// (the best states so far, where the run keeps them) and state.json (where the run is). It is made
// aside and renamed, so a folder of that name is always whole. What is read may come from anywhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "antichain/train/history.h"
#include "antichain/train/safetensors.h"

namespace antichain {

/// Where a training run is.
struct TrainState {
  std::int64_t epoch = 1;         // the current one, counted from 1
  std::int64_t batch = 0;         // done in this epoch
  std::int64_t step = 0;          // done in all
  std::int64_t samples = 0;       // trained on in all
  double loss_total = 0;          // over this epoch's samples
  std::int64_t loss_samples = 0;  // of this epoch
  double seconds = 0;             // spent in training
  double best_score = 0;          // as of best_epoch
  std::int64_t best_epoch = 0;    // 0: no evaluation yet
  bool finished = false;
  History history = {};
};

struct Checkpoint {
  TrainState state;
  NamedTensors states;
  NamedTensors best = {};  // empty: none was kept
};

/// Writes a checkpoint into `folder` and removes all but the `keep` newest ones.
void save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                     std::int64_t keep);
/// Removes what a training that was killed has left half made or half removed in `folder`. Only who
/// holds the run's folder may do so.
void remove_leftovers(const std::filesystem::path& folder);
/// Reads the newest checkpoint in `folder`; none when there is none. Throws DataError when it is
/// damaged, in one sentence that names an older one which is whole, if there is one.
std::optional<Checkpoint> load_checkpoint(const std::filesystem::path& folder);

}  // namespace antichain
