#include "antichain/data/batches.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/data/shuffled.h"

namespace antichain::data {

// Makes the batches first … end - 1 in order, a few ahead of who takes them.
class Batches::Prefetcher {
 public:
  Prefetcher(const Batches& batches, std::int64_t first, std::int64_t end)
      : batches_(batches), thread_([this, first, end] { produce(first, end); }) {}
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Returns the next batch, or throws what stopped the thread.
  Batch take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || error_; });
    if (ready_.empty()) {
      std::rethrow_exception(error_);
    }
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  void produce(std::int64_t first, std::int64_t end) noexcept {
    const auto ahead = static_cast<std::size_t>(batches_.options_.prefetch);
    for (std::int64_t number = first; number < end; ++number) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ready_.size() < ahead || stopped_; });
      if (stopped_) {
        return;
      }
      lock.unlock();
      try {
        Batch batch = batches_.make(number);
        lock.lock();
        ready_.push_back(std::move(batch));
      } catch (...) {
        if (!lock.owns_lock()) {
          lock.lock();
        }
        error_ = std::current_exception();
      }
      changed_.notify_all();
      if (error_) {
        return;
      }
    }
  }

  const Batches& batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses all of the above
};

Batches::Batches(DatasetPtr dataset, BatchesOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  require(dataset_ != nullptr, "there is no dataset to make batches of");
  require(options_.batch > 0, "a batch must have at least one sample, got {}", options_.batch);
  require(options_.prefetch >= 0, "prefetch must be 0 or more batches, got {}", options_.prefetch);
}

Batches::~Batches() = default;

std::int64_t Batches::batches_per_epoch() const {
  const std::int64_t full = dataset_->size() / options_.batch;
  return !options_.drop_last && dataset_->size() % options_.batch != 0 ? full + 1 : full;
}

void Batches::start(std::int64_t epoch, std::int64_t first_batch) {
  const std::int64_t end = batches_per_epoch();
  require(epoch >= 0, "epochs count from 0, got {}", epoch);
  require(first_batch >= 0 && first_batch <= end,
          "an epoch of {} batches cannot start at batch {}, counted from 0", end, first_batch);
  prefetcher_.reset();  // first: its thread reads what changes now
  if (options_.shuffle) {
    order_ = shuffled(dataset_->size(), options_.seed, options_.same_order ? 1 : epoch);
  } else if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(dataset_->size()));
    std::iota(order_.begin(), order_.end(), 0);
  }
  epoch_ = epoch;
  next_ = first_batch;
  if (options_.prefetch > 0 && first_batch < end) {
    prefetcher_ = std::make_unique<Prefetcher>(*this, first_batch, end);
  }
}

bool Batches::next(Batch& batch) {
  require(epoch_ >= 0, "call start() before the first next()");
  if (next_ == batches_per_epoch()) {
    return false;
  }
  batch = prefetcher_ ? prefetcher_->take() : make(next_);
  ++next_;
  return true;
}

Batch Batches::make(std::int64_t number) const {
  const std::int64_t first = number * options_.batch;
  const std::int64_t count = std::min(options_.batch, dataset_->size() - first);
  Batch batch = dataset_->take({order_.data() + first, static_cast<std::size_t>(count)});
  if (options_.augment) {
    const RandomStream stream = random_stream(options_.seed, Purpose::augmentation);
    options_.augment(batch, folded_in(folded_in(stream, epoch_), number));
  }
  return batch;
}

}  // namespace antichain::data
