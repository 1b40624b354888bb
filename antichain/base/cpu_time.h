// How long the calling thread has been running on a core, as opposed to waiting for one.
#pragma once

#include <chrono>

namespace antichain {

/// Returns the CPU time that the calling thread has used so far.
std::chrono::nanoseconds thread_cpu_time();

/// Starts so many threads that want to run all the time, for `time`, and returns the largest share
/// of it that one of them waited for a core: near 0 on an idle machine.
double waiting_share(int threads, std::chrono::nanoseconds time);

}  // namespace antichain
