// Progress of a run: a bar that moves on a terminal, now and then a line elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "recipes/recipe.h"

namespace antichain::app {

class ProgressBar {
 public:
  explicit ProgressBar(std::FILE* stream);
  /// Leaves the terminal at the beginning of a line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const RecipeProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const RecipeProgress& progress, double seconds);
  void write(const std::string& text);

  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace antichain::app
