#include "antichain/session/threads.h"

#include "antichain/backends/cpu/threads/parallel.h"

namespace antichain {

int num_threads() { return cpu::num_threads(); }

void set_num_threads(int threads) { cpu::set_num_threads(threads); }

}  // namespace antichain
