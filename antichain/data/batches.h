// Batches: walks over a dataset, epoch by epoch, with a thread that prepares what comes next.
//
// The order of an epoch depends on (seed, epoch) alone, and what augmentation draws on (seed,
// epoch, number of the batch): a run that resumes at any batch sees the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "antichain/base/random_functions.h"
#include "antichain/data/dataset.h"

namespace antichain::data {

/// Changes a batch at random; whatever it draws, it draws from `key`.
using Augment = std::function<void(Batch& batch, RandomStream key)>;

struct BatchesOptions {
  std::int64_t batch = 32;  // samples
  bool shuffle = true;      // else in the order of the dataset
  bool same_order = false;  // shuffled alike in all epochs: the same batches, one after the other
  bool drop_last = false;   // leaves out a last batch that is not full
  std::int64_t seed = 0;
  std::int64_t prefetch = 2;  // batches made ahead by a thread; 0: made when asked for, no thread
  Augment augment = {};
};

class Batches {
 public:
  Batches(DatasetPtr dataset, BatchesOptions options);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  /// Ends in the middle of an epoch, too.
  ~Batches();

  /// Begins an epoch, at a batch other than the first if told so. What was left of another epoch is
  /// given up.
  void start(std::int64_t epoch, std::int64_t first_batch = 0);
  /// Moves the next batch into `batch` and returns true, or returns false at the end of the epoch.
  /// Throws what the dataset or the augmentation threw while they made it.
  bool next(Batch& batch);

  std::int64_t batches_per_epoch() const;
  const Dataset& dataset() const { return *dataset_; }
  const BatchesOptions& options() const { return options_; }

 private:
  class Prefetcher;

  Batch make(std::int64_t number) const;

  DatasetPtr dataset_;
  BatchesOptions options_;
  std::int64_t epoch_ = -1;  // none yet
  std::int64_t next_ = 0;    // number of the batch that next() hands out
  std::vector<std::int64_t> order_;
  std::unique_ptr<Prefetcher> prefetcher_;
};

}  // namespace antichain::data
