// Indices that are checked: see index_report.h.
#pragma once

namespace antichain::device {

struct IndexNote {
  unsigned long long taken;
  long long source, numbers[8];
};

// Notes down what is wrong, unless something was before.
template <class... Numbers>
__device__ void note_down(IndexNote* note, long long source, Numbers... numbers) {
  if (atomicCAS_system(&note->taken, 0ULL, 1ULL) == 0) {
    const long long all[] = {(long long)numbers..., 0};
    note->source = source;
    for (int i = 0; i < int(sizeof...(numbers)); ++i) {
      note->numbers[i] = all[i];
    }
    __threadfence_system();
  }
}

// Returns the index, or 0 after noting down that it names no element.
inline __device__ long long checked(long long index, long long size, IndexNote* note,
                                    long long source) {
  if (index >= 0 && index < size) {
    return index;
  }
  note_down(note, source, index, size);
  return 0;
}

}  // namespace antichain::device
