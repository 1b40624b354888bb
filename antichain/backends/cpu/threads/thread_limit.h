// How many threads kernels use just now, on a machine that others use too.
//
// A worker that wants to run and does not get a core is worse than none: whoever waits for it
// stands still. So the number of threads follows what the machine gives, as a sender of TCP follows
// its network (additive increase, multiplicative decrease): fewer as soon as a worker had to wait
// for a core, one more after a while without such a report. An attempt that fails makes the while
// longer.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

namespace antichain::cpu {

class ThreadLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ThreadLimit(int most) : most_(most), now_(most) {}

  int most() const { return most_.load(std::memory_order_relaxed); }
  /// Sets how many threads there are at most, and allows all of them.
  void set_most(int most);

  /// Returns how many threads to use, the caller's among them.
  int threads() const { return now_.load(std::memory_order_relaxed); }
  bool is_reduced() const { return threads() < most(); }

  /// Says that a worker had to wait for a core.
  void report_waiting(Clock::time_point now);
  /// Allows one more thread if there has been no report for long enough.
  void raise_if_quiet(Clock::time_point now);

 private:
  void change_to(int threads, Clock::time_point now);

  std::atomic<int> most_, now_;
  std::mutex mutex_;  // of the rest
  Clock::time_point changed_ = {};
  Clock::duration quiet_ = {};  // after which one more thread is tried
  bool was_raised_ = false;     // by the last change
};

/// What share of the time a thread that wanted to run did not run. The thread itself says when it
/// is awake; time asleep by its own choice does not count.
class WaitingShare {
 public:
  using Clock = ThreadLimit::Clock;

  void wake_up(Clock::time_point now);
  void fall_asleep(Clock::time_point now);
  /// Returns true once per window if too much of it was spent waiting for a core.
  bool is_too_large(Clock::time_point now);

 private:
  void add_until(Clock::time_point now);

  Clock::time_point since_ = {};
  std::chrono::nanoseconds cpu_since_{0};
  std::chrono::nanoseconds awake_{0}, running_{0};
};

}  // namespace antichain::cpu
