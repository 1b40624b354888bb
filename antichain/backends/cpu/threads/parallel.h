// The one place where kernels of this backend become parallel.
//
// Work is cut into ranges by its size alone, never by the number of threads, and every range is
// computed by one thread. So a kernel that adds up per range, and then the ranges in order, gives
// the same bits on any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "antichain/base/function_ref.h"

namespace antichain::cpu {

/// Calls task(n) for every n in [0, count), several at once, each once. What a task throws reaches
/// the caller after all have ended: that of the smallest n.
void parallel_tasks(std::int64_t count, FunctionRef<void(std::int64_t n)> task);

/// Calls f(first, last) for consecutive ranges of `grain` elements (the last one may be shorter)
/// that cover [0, count), several at once.
template <class F>
void parallel_ranges(std::int64_t count, std::int64_t grain, F&& f) {
  parallel_tasks((count + grain - 1) / grain,
                 [&](std::int64_t n) { f(n * grain, std::min(count, (n + 1) * grain)); });
}

/// Elements of a range of element-wise work: a task is far more than starting one costs.
inline constexpr std::int64_t kElementGrain = 16 * 1024;
/// Elements times loops over them below which threads cost more than they do.
inline constexpr std::int64_t kParallelFrom = 32 * 1024;

/// Returns how many threads kernels of this process use at most, and sets it. They use fewer while
/// others need the cores (thread_limit.h).
int num_threads();
void set_num_threads(int threads);

/// Returns the number of threads to begin with, from the values of ANTICHAIN_THREADS and
/// OMP_NUM_THREADS (null where they are not set); the first one that says something counts, without
/// any it is the number of cores that this process may use. Throws InvalidArgument if `ours` is no
/// number of threads.
int default_threads(const char* ours, const char* openmp);

}  // namespace antichain::cpu
