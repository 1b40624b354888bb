#include "antichain/base/background_tasks.h"

#include <thread>

namespace antichain {

BackgroundTasks::~BackgroundTasks() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return running_ == 0; });
}

void BackgroundTasks::add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(task));
  if (running_ < threads_) {
    std::thread([this] { work(); }).detach();
    ++running_;
  }
}

void BackgroundTasks::work() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  --running_;
  // Under the lock: whoever waits for the end destroys this as soon as he has it.
  ended_.notify_all();
}

}  // namespace antichain
