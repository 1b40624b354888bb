// Progress of a training run: a bar that moves on a terminal, now and then a line elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "antichain/train/trainer.h"

namespace antichain {

/// Shows TrainProgress on a stream: loss, accuracy, samples per second, time left.
class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* stream);
  /// Leaves the terminal at the beginning of a line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const TrainProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const TrainProgress& progress, double seconds);
  void write(const std::string& text);

  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace antichain
