#include "antichain/base/background_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace antichain::background_tasks_test {

TEST(BackgroundTasks, GiveWhatTheyReturn) {
  BackgroundTasks tasks(3);
  std::vector<std::shared_future<int>> found;
  for (int i = 0; i < 50; ++i) {
    found.push_back(tasks.start([i] { return i * i; }));
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(found[static_cast<std::size_t>(i)].get(), i * i);
  }
}

TEST(BackgroundTasks, GiveWhatTheyThrow) {
  BackgroundTasks tasks(1);
  const std::shared_future<int> wrong =
      tasks.start([]() -> int { throw std::runtime_error("it does not compile"); });
  EXPECT_THROW(wrong.get(), std::runtime_error);
  EXPECT_EQ(tasks.start([] { return 1; }).get(), 1);
}

TEST(BackgroundTasks, AreNoMoreAtOnceThanAskedFor) {
  std::atomic<int> running = 0, most = 0, ended = 0;
  {
    BackgroundTasks tasks(2);
    for (int i = 0; i < 20; ++i) {
      tasks.start([&] {
        const int now = ++running;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --running;
        ++ended;
        return 0;
      });
    }
  }  // waits for all
  EXPECT_EQ(ended, 20);
  EXPECT_LE(most, 2);
}

}  // namespace antichain::background_tasks_test
