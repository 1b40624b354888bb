// Work beside the caller that somebody waits for later: compiling kernels while the rest of a graph
// is prepared.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace antichain {

/// Runs tasks in the order in which they were started, so many at the same time at most. There are
/// threads only while there are tasks.
class BackgroundTasks {
 public:
  explicit BackgroundTasks(int threads) : threads_(threads) {}
  /// Waits for all of them.
  ~BackgroundTasks();
  BackgroundTasks(const BackgroundTasks&) = delete;
  BackgroundTasks& operator=(const BackgroundTasks&) = delete;

  /// Returns what f() will return or throw.
  template <class F>
  std::shared_future<std::invoke_result_t<F>> start(F f) {
    const auto task = std::make_shared<std::packaged_task<std::invoke_result_t<F>()>>(std::move(f));
    add([task] { (*task)(); });
    return task->get_future().share();
  }

 private:
  void add(std::function<void()> task);
  void work();

  const int threads_;
  std::mutex mutex_;  // of the rest
  std::condition_variable ended_;
  std::deque<std::function<void()>> waiting_;
  int running_ = 0;  // threads
};

}  // namespace antichain
