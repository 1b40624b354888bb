#include "antichain/backends/cpu/threads/fork_join_job.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "antichain/backends/cpu/threads/spin_wait.h"

namespace antichain::cpu {

namespace {

// Tasks of a step take some ten microseconds; who takes longer has been interrupted.
constexpr auto kCloseSpin = std::chrono::microseconds(100);

}  // namespace

void ForkJoinJob::open(std::int64_t count, const Task& task, int threads) {
  task_ = &task;
  shares_used_ = std::min(threads, kMostShares);
  for (int i = 0; i < shares_used_; ++i) {
    Share& share = shares_[static_cast<std::size_t>(i)];
    share.next.store(count * i / shares_used_, std::memory_order_relaxed);
    share.end = count * (i + 1) / shares_used_;
  }
  error_at_ = std::numeric_limits<std::int64_t>::max();
  threads_.store(threads, std::memory_order_relaxed);
  inside_.store(kOpen, std::memory_order_release);
}

void ForkJoinJob::close() {
  inside_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto is_empty = [this] { return inside_.load(std::memory_order_acquire) == 0; };
  if (!spin_until(is_empty, kCloseSpin)) {
    for (std::uint32_t left = inside_.load(std::memory_order_acquire); left != 0;
         left = inside_.load(std::memory_order_acquire)) {
      inside_.wait(left, std::memory_order_acquire);
    }
  }
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

bool ForkJoinJob::enter(int worker) {
  std::uint32_t inside = inside_.load(std::memory_order_relaxed);
  while (inside & kOpen && worker < threads_.load(std::memory_order_relaxed)) {
    if (inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ForkJoinJob::leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    inside_.notify_one();  // the last one, of a job that is closed
  }
}

void ForkJoinJob::run_tasks(int own) {
  for (int i = 0; i < shares_used_; ++i) {
    run_share(shares_[static_cast<std::size_t>((own + i) % shares_used_)]);
  }
}

void ForkJoinJob::run_share(Share& share) {
  // Looked at first: a share that is used up is read by many and written by none.
  while (share.next.load(std::memory_order_relaxed) < share.end) {
    const std::int64_t n = share.next.fetch_add(1, std::memory_order_relaxed);
    if (n >= share.end) {
      return;
    }
    try {
      (*task_)(n);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (n < error_at_) {
        error_ = std::current_exception();
        error_at_ = n;
      }
    }
  }
}

}  // namespace antichain::cpu
