// Indices that are checked: see index_report.h.
#pragma once

namespace antichain::device {

struct IndexNote {
  unsigned long long taken;
  long long source, index, size;
};

// Returns the index, or 0 after noting down that it names no element.
inline __device__ long long checked(long long index, long long size, IndexNote* note,
                                    long long source) {
  if (index >= 0 && index < size) {
    return index;
  }
  if (atomicCAS_system(&note->taken, 0ULL, 1ULL) == 0) {
    note->source = source;
    note->index = index;
    note->size = size;
    __threadfence_system();
  }
  return 0;
}

}  // namespace antichain::device
