// Indices that are checked: see index_report.h.
#pragma once

namespace antichain::device {

// What is wrong, by the number of the run that the GPU is at. The host looks at that of a run when
// it has ended.
struct IndexNote {
  volatile unsigned char run;
  struct alignas(8) Run {
    unsigned long long taken;
    long long source, numbers[8];
  } runs[256];
};

// Notes down what is wrong, unless something was before.
template <class... Numbers>
__device__ void note_down(IndexNote* note, long long source, Numbers... numbers) {
  IndexNote::Run& run = note->runs[note->run];
  if (atomicCAS(&run.taken, 0ULL, 1ULL) == 0) {
    const long long all[] = {(long long)numbers..., 0};
    run.source = source;
    for (int i = 0; i < int(sizeof...(numbers)); ++i) {
      run.numbers[i] = all[i];
    }
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
