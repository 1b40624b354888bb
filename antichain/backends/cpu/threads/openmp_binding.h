// What OpenMP does to the threads of a process by being loaded, which oneDNN does.
//
// With OMP_PROC_BIND it binds the thread that loads it to one core, and every thread that this one
// starts inherits that: all of a pool would share a core.
#pragma once

#include <vector>

namespace antichain::cpu {

/// Returns the cores that the process had before OpenMP bound its first thread to one of them;
/// empty where it did not.
std::vector<int> cores_before_openmp_binding();

/// Binds the calling thread, number `thread` of a pool whose thread 0 is the first of the process,
/// to a core of its own where OpenMP would do so with one of its threads; elsewhere does nothing.
void follow_openmp_binding(int thread);

}  // namespace antichain::cpu
