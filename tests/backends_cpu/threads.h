// A number of threads, as long as the scope lasts.
#pragma once

#include "antichain/backends/cpu/threads/parallel.h"

namespace antichain::cpu {

class Threads {
 public:
  explicit Threads(int count) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = num_threads();
};

}  // namespace antichain::cpu
