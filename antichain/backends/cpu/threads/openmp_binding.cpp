#include "antichain/backends/cpu/threads/openmp_binding.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace antichain::cpu {

std::vector<int> cores_before_openmp_binding() {
  std::vector<int> cores;
#ifdef _OPENMP
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    for (int place = 0; place < omp_get_num_places(); ++place) {
      std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, ids.data());
      cores.insert(cores.end(), ids.begin(), ids.end());
    }
  }
#endif
  return cores;
}

void follow_openmp_binding([[maybe_unused]] int thread) {
#ifdef __linux__
  const std::vector<int> cores = cores_before_openmp_binding();
  if (cores.empty()) {
    return;
  }
  const int core = cores[static_cast<std::size_t>(thread) % cores.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  // A refusal leaves the thread where it is: slower, not wrong.
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));
#endif
}

}  // namespace antichain::cpu
