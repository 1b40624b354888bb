#include "antichain/backends/cpu/threads/thread_limit.h"

#include <gtest/gtest.h>

#include <thread>

namespace antichain::cpu::thread_limit_test {

using std::chrono::milliseconds;
using Time = ThreadLimit::Clock::time_point;

constexpr Time kStart = Time(std::chrono::hours(1));

TEST(ThreadLimit, FallsWhenAWorkerHadToWait) {
  ThreadLimit limit(16);
  limit.report_waiting(kStart);
  EXPECT_EQ(limit.threads(), 12);
  limit.report_waiting(kStart + milliseconds(1));  // about the time before
  EXPECT_EQ(limit.threads(), 12);
  Time now = kStart;
  for (int i = 0; i < 20; ++i) {
    now += milliseconds(10);
    limit.report_waiting(now);
  }
  EXPECT_EQ(limit.threads(), 1);
  EXPECT_EQ(limit.most(), 16);
}

TEST(ThreadLimit, RisesOneByOneWhenAllIsQuiet) {
  ThreadLimit limit(4);
  limit.report_waiting(kStart);
  EXPECT_EQ(limit.threads(), 3);
  limit.raise_if_quiet(kStart + milliseconds(10));
  EXPECT_EQ(limit.threads(), 3);
  limit.raise_if_quiet(kStart + milliseconds(25));
  EXPECT_EQ(limit.threads(), 4);
  EXPECT_FALSE(limit.is_reduced());
}

// Returns how long it takes until one more thread is tried.
milliseconds quiet_time(ThreadLimit& limit, Time since) {
  milliseconds waited(0);
  for (const int before = limit.threads(); limit.threads() == before; waited += milliseconds(1)) {
    limit.raise_if_quiet(since + waited);
  }
  return waited;
}

TEST(ThreadLimit, TriesLessOftenTheLongerItIsInVain) {
  ThreadLimit limit(2);
  limit.report_waiting(kStart);
  Time now = kStart;
  milliseconds before(0);
  for (int i = 0; i < 5; ++i) {
    const milliseconds quiet = quiet_time(limit, now);
    EXPECT_GT(quiet, before);
    before = quiet;
    now += quiet + milliseconds(10);
    limit.report_waiting(now);  // soon after the attempt
    ASSERT_EQ(limit.threads(), 1);
  }
  for (int i = 0; i < 10; ++i) {
    now += quiet_time(limit, now) + milliseconds(10);
    limit.report_waiting(now);
  }
  EXPECT_LE(quiet_time(limit, now), milliseconds(1001));
  now += std::chrono::seconds(10);  // it went well for long
  limit.report_waiting(now);
  EXPECT_LE(quiet_time(limit, now), milliseconds(21));
}

TEST(ThreadLimit, ANewNumberOfThreadsIsAllowedAtOnce) {
  ThreadLimit limit(2);
  limit.report_waiting(kStart);
  limit.set_most(5);
  EXPECT_EQ(limit.threads(), 5);
}

TEST(WaitingShare, IsTimeWithoutACore) {
  WaitingShare waiting;
  const Time now = WaitingShare::Clock::now();
  waiting.wake_up(now);
  EXPECT_FALSE(waiting.is_too_large(now + milliseconds(1)));  // too soon to say
  std::this_thread::sleep_for(milliseconds(20));              // nobody said so: like having no core
  EXPECT_TRUE(waiting.is_too_large(WaitingShare::Clock::now()));
}

TEST(WaitingShare, LeavesOutTimeAsleep) {
  WaitingShare waiting;
  const Time now = WaitingShare::Clock::now();
  waiting.wake_up(now);
  waiting.fall_asleep(now);
  waiting.wake_up(now + milliseconds(20));
  EXPECT_FALSE(waiting.is_too_large(now + milliseconds(21)));
}

}  // namespace antichain::cpu::thread_limit_test
