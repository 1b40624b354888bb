// Preparation: seconds that go into making kernels ready (prepared_parts.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/backends/cuda/prepared_parts.h"

namespace antichain::cuda {

/// Adds up seconds by what they were spent on. Threads may add at the same time.
class Preparation {
 public:
  using Clock = std::chrono::steady_clock;

  /// Measures from here to the end of its life.
  class Timer {
   public:
    Timer(Preparation& preparation, std::string_view what)
        : preparation_(preparation), what_(what) {}
    ~Timer() { preparation_.add(what_, start_, Clock::now()); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Preparation& preparation_;
    std::string_view what_;
    Clock::time_point start_ = Clock::now();
  };

  std::vector<PreparedPart> parts() const;

 private:
  struct Sum {
    std::int64_t count = 0;
    double seconds = 0;
    Clock::time_point first, last;  // between them it went on
  };
  void add(std::string_view what, Clock::time_point start, Clock::time_point end);

  mutable std::mutex mutex_;
  std::map<std::string, Sum, std::less<>> sums_;
};

}  // namespace antichain::cuda
