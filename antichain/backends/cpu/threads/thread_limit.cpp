#include "antichain/backends/cpu/threads/thread_limit.h"

#include <algorithm>

#include "antichain/base/cpu_time.h"

namespace antichain::cpu {

namespace {

// Some slices of the scheduler (3 ms): in less time a thread that shares a core looks undisturbed.
constexpr auto kWindow = std::chrono::milliseconds(6);
constexpr double kMostWaiting = 0.2;  // of a window; a third thread on two cores makes it a third
constexpr auto kShortestQuiet = std::chrono::milliseconds(20);
constexpr auto kLongestQuiet =
    std::chrono::milliseconds(1000);    // an attempt in vain costs about one window
constexpr auto kAttempt = 3 * kWindow;  // a report this soon after a raise is due to it

}  // namespace

void ThreadLimit::set_most(int most) {
  const std::lock_guard lock(mutex_);
  most_ = most;
  now_ = most;
}

void ThreadLimit::report_waiting(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const int threads = now_;
  if (threads == 1 || now - changed_ < kWindow) {
    return;  // the report is about a number of threads that has been given up
  }
  const bool in_vain = was_raised_ && now - changed_ < kAttempt;
  quiet_ = in_vain ? std::min<Clock::duration>(2 * quiet_, kLongestQuiet) : kShortestQuiet;
  was_raised_ = false;
  change_to(std::max(1, threads * 3 / 4), now);
}

void ThreadLimit::raise_if_quiet(Clock::time_point now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && is_reduced() && now - changed_ >= quiet_) {
    was_raised_ = true;
    change_to(threads() + 1, now);
  }
}

void ThreadLimit::change_to(int threads, Clock::time_point now) {
  now_ = threads;
  changed_ = now;
}

void WaitingShare::wake_up(Clock::time_point now) {
  since_ = now;
  cpu_since_ = thread_cpu_time();
}

void WaitingShare::fall_asleep(Clock::time_point now) { add_until(now); }

void WaitingShare::add_until(Clock::time_point now) {
  const std::chrono::nanoseconds cpu = thread_cpu_time();
  awake_ += now - since_;
  running_ += cpu - cpu_since_;
  since_ = now;
  cpu_since_ = cpu;
}

bool WaitingShare::is_too_large(Clock::time_point now) {
  if (awake_ + (now - since_) < kWindow) {
    return false;
  }
  add_until(now);
  const bool too_large = static_cast<double>((awake_ - running_).count()) >
                         kMostWaiting * static_cast<double>(awake_.count());
  awake_ = running_ = std::chrono::nanoseconds(0);
  return too_large;
}

}  // namespace antichain::cpu
