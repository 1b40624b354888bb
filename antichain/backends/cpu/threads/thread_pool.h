// Threads that help whoever calls run(): a fork-join pool for a machine that others use, too.
//
// A caller opens a job, takes tasks from it like everybody else, and returns when no task is left
// and nobody is inside the job any more. Workers come when they get a core; a worker that does not
// come is not waited for, since its tasks are taken by those that run (work stealing). Each thread
// begins with a share of its own, so that the same thread touches the same part of the data from
// job to job.
//
// Waiting spins for a short time and then sleeps (futex). ThreadLimit says how many workers are
// called at all. No result depends on any of this: tasks are cut by the size of the work alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "antichain/backends/cpu/threads/fork_join_job.h"
#include "antichain/backends/cpu/threads/thread_limit.h"

namespace antichain::cpu {

inline constexpr int kMostThreads = 1024;  // of a pool

class ThreadPool {
 public:
  /// Makes a pool of `threads` threads, of which a caller of run() is one. Workers are started by
  /// the first job that wants them.
  explicit ThreadPool(int threads) : limit_(threads) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return limit_.most(); }
  /// Throws InvalidArgument if there would be none, or more than kMostThreads.
  void set_threads(int threads);

  /// Calls task(n) for every n in [0, count), several at once, each once. What a task throws
  /// reaches the caller after all have ended: that of the smallest n. Tasks that call run() run in
  /// their own thread. Several threads may call it at the same time.
  void run(std::int64_t count, FunctionRef<void(std::int64_t n)> task);

 private:
  struct alignas(kCacheLine) Worker {
    explicit Worker(int n) : number(n) {}
    int number;  // of its share in a job; the caller's is 0
    std::atomic<std::uint32_t> asleep = 0;
    std::thread thread = {};
  };
  static constexpr std::size_t kJobs = 8;  // callers at the same time; more run without help

  ForkJoinJob* take_job();
  void call_workers(int count);
  void start_workers(int count);
  void work(Worker& worker);
  void wait_for_call(std::uint32_t seen, Worker& worker, WaitingShare& waiting);

  ThreadLimit limit_;
  std::array<ForkJoinJob, kJobs> jobs_;
  alignas(kCacheLine) std::atomic<std::uint32_t> calls_ = 0;  // counts jobs; workers watch it
  std::atomic<bool> stopping_ = false;
  std::mutex start_mutex_;
  std::array<std::unique_ptr<Worker>, kMostThreads - 1> workers_;
  std::atomic<int> num_workers_ = 0;  // that have been started
};

}  // namespace antichain::cpu
