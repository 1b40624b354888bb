#include "antichain/backends/cpu/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>

#include "antichain/backends/cpu/threads/openmp_binding.h"
#include "antichain/backends/cpu/threads/spin_wait.h"
#include "antichain/base/error.h"

namespace antichain::cpu {

namespace {

// Longer than what lies between two parallel ops of a step, shorter than anybody notices.
constexpr auto kCallSpin = std::chrono::microseconds(200);

thread_local bool runs_tasks = false;  // this thread, for a job

struct RunningTasks {
  RunningTasks() { runs_tasks = true; }
  ~RunningTasks() { runs_tasks = false; }
};

// Signals are for the threads of the program, which may not expect to be interrupted here.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

void name_this_thread([[maybe_unused]] int number) {
#ifdef __linux__
  pthread_setname_np(pthread_self(), ("antichain/" + std::to_string(number)).c_str());
#endif
}

}  // namespace

ThreadPool::~ThreadPool() {
  stopping_ = true;
  call_workers(num_workers_);
  for (int i = 0; i < num_workers_; ++i) {
    workers_[static_cast<std::size_t>(i)]->thread.join();
  }
}

void ThreadPool::set_threads(int threads) {
  require(threads >= 1 && threads <= kMostThreads,
          "the number of threads must be from 1 to {}, got {}", kMostThreads, threads);
  limit_.set_most(threads);
}

void ThreadPool::run(std::int64_t count, FunctionRef<void(std::int64_t n)> task) {
  if (limit_.is_reduced()) {
    limit_.raise_if_quiet(ThreadLimit::Clock::now());
  }
  const int threads = static_cast<int>(std::min<std::int64_t>(limit_.threads(), count));
  ForkJoinJob* const job = threads > 1 && !runs_tasks ? take_job() : nullptr;
  if (job == nullptr) {
    for (std::int64_t n = 0; n < count; ++n) {
      task(n);
    }
    return;
  }
  struct GivingBack {
    ForkJoinJob& job;
    ~GivingBack() { job.give_back(); }
  } const giving_back{*job};
  start_workers(threads - 1);
  job->open(count, task, threads);
  call_workers(threads - 1);
  {
    const RunningTasks running;
    job->run_tasks(0);
  }
  job->close();
}

ForkJoinJob* ThreadPool::take_job() {
  const auto found = std::ranges::find_if(jobs_, [](ForkJoinJob& job) { return job.take(); });
  return found == jobs_.end() ? nullptr : &*found;
}

// A worker that says that it is asleep looks at calls_ once more before it sleeps, and here calls_
// changes before that is looked at: in the one order of these accesses, one of both sees the other.
void ThreadPool::call_workers(int count) {
  calls_.fetch_add(1, std::memory_order_seq_cst);
  count = std::min(count, num_workers_.load(std::memory_order_acquire));
  for (int i = 0; i < count; ++i) {
    Worker& worker = *workers_[static_cast<std::size_t>(i)];
    if (worker.asleep.load(std::memory_order_seq_cst) != 0 &&
        worker.asleep.exchange(0, std::memory_order_seq_cst) != 0) {
      worker.asleep.notify_one();
    }
  }
}

void ThreadPool::start_workers(int count) {
  if (num_workers_.load(std::memory_order_acquire) >= count) {
    return;
  }
  const std::lock_guard lock(start_mutex_);
  const WithoutSignals without_signals;
  for (int n = num_workers_; n < count; ++n) {
    std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(n)];
    worker = std::make_unique<Worker>(n + 1);
    worker->thread = std::thread([this, &made = *worker] { work(made); });
    num_workers_.store(n + 1, std::memory_order_release);
  }
}

void ThreadPool::work(Worker& worker) {
  name_this_thread(worker.number);
  follow_openmp_binding(worker.number);
  runs_tasks = true;
  WaitingShare waiting;
  waiting.wake_up(ThreadLimit::Clock::now());
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = calls_.load(std::memory_order_seq_cst);
    for (ForkJoinJob& job : jobs_) {
      if (job.enter(worker.number)) {
        job.run_tasks(worker.number);
        job.leave();
      }
    }
    if (const auto now = ThreadLimit::Clock::now(); waiting.is_too_large(now)) {
      limit_.report_waiting(now);
    }
    wait_for_call(seen, worker, waiting);
  }
}

// Whoever is not wanted for now sleeps until a job calls him.
void ThreadPool::wait_for_call(std::uint32_t seen, Worker& worker, WaitingShare& waiting) {
  const auto is_called = [&] {
    return stopping_.load(std::memory_order_seq_cst) ||
           (calls_.load(std::memory_order_seq_cst) != seen && worker.number < limit_.threads());
  };
  if (worker.number < limit_.threads() && spin_until(is_called, kCallSpin)) {
    return;
  }
  worker.asleep.store(1, std::memory_order_seq_cst);
  if (is_called()) {
    worker.asleep.store(0, std::memory_order_relaxed);
    return;
  }
  waiting.fall_asleep(ThreadLimit::Clock::now());
  worker.asleep.wait(1);
  waiting.wake_up(ThreadLimit::Clock::now());
}

}  // namespace antichain::cpu
