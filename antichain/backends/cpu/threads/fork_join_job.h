// One set of tasks that several threads take from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/base/function_ref.h"

namespace antichain::cpu {

/// The memory of jobs that follow each other: it belongs to the pool and outlives each of them, so
/// that a worker that comes too late finds it closed.
class ForkJoinJob {
 public:
  using Task = FunctionRef<void(std::int64_t n)>;

  /// Takes the memory for a job; false if somebody has it.
  bool take() { return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true); }
  void give_back() { taken_.store(false, std::memory_order_release); }

  /// Opens the job, cut into a share for each of `threads` threads.
  void open(std::int64_t count, const Task& task, int threads);
  /// Keeps later workers out and waits until those inside have left. Rethrows what a task threw:
  /// that of the smallest n.
  void close();

  /// Lets a worker in while the job is open and has a share for it.
  bool enter(int worker);
  void leave();

  /// Takes tasks until there is none: those of share `own` first, then those of others.
  void run_tasks(int own);

 private:
  struct alignas(kCacheLine) Share {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };
  static constexpr int kMostShares = 64;
  static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;

  void run_share(Share& share);

  alignas(kCacheLine) std::atomic<std::uint32_t> inside_ = 0;  // workers, and kOpen
  std::atomic<int> threads_ = 0;
  std::atomic<bool> taken_ = false;
  const Task* task_ = nullptr;
  int shares_used_ = 0;
  std::array<Share, kMostShares> shares_;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::int64_t error_at_ = 0;
};

}  // namespace antichain::cpu
