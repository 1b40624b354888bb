// Threads of the CPU backend. They belong to the process: all its sessions share them.
#pragma once

namespace antichain {

/// Returns how many threads this process computes with at most. It begins with $ANTICHAIN_THREADS,
/// or $OMP_NUM_THREADS, or else the number of cores that the process may use. While other programs
/// need the cores, fewer are used. Results have the same bits on any number.
int num_threads();

/// Sets it; threads of the process that are computing just now are not disturbed. Throws
/// InvalidArgument for less than 1 or more than 1,024.
void set_num_threads(int threads);

}  // namespace antichain
