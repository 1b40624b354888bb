// Affine scans with diagonals: every number of a state for itself, a thread per number and chunk.
// Threads that are neighbours read neighbours, and several steps are on their way at once.
#pragma once

#include "antichain/backends/cuda/device/affine_scan.cuh"

namespace antichain::device {

template <class T>
struct ColumnScan {
  Chunks cut;                // its places are the numbers of a state
  const T *a, *b, *initial;  // [steps, places] twice, [places]
  T *before, *last;          // [steps, places], [places]
  T *factors, *added;        // [chunks - 1, places]: what a chunk does
  int* exponents;            // likewise: powers of two beside the factors
  T* carried;                // [chunks, places]: the states before each chunk
};

constexpr int kReadAtOnce = 8;  // steps

// Calls use(n, factor, added) for `count` steps, in order.
template <class T, class Use>
void for_steps(const ColumnScan<T>& a, long long first, long long place, long long count, Use use) {
  for (long long n = 0; n < count; n += kReadAtOnce) {
    T factors[kReadAtOnce], added[kReadAtOnce];
#pragma unroll
    for (int r = 0; r < kReadAtOnce; ++r) {
      const long long step = n + r < count ? n + r : count - 1;
      const long long at = a.cut.position(first + step, place);
      factors[r] = a.a[at];
      added[r] = a.b[at];
    }
#pragma unroll
    for (int r = 0; r < kReadAtOnce; ++r) {
      if (n + r < count) {
        use(n + r, factors[r], added[r]);
      }
    }
  }
}

// Phase 1: what the chunks do, but for the last.
template <class T>
void multiply_chunks(const ColumnScan<T>& a) {
  const long long which = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (which >= (a.cut.chunks - 1) * a.cut.places) {
    return;
  }
  const long long chunk = which / a.cut.places, place = which % a.cut.places;
  T product = 1, sum = 0;
  int exponent = 0;
  for_steps(a, chunk * a.cut.chunk, place, a.cut.chunk, [&](long long n, T factor, T added) {
    product *= factor;
    sum = fma(sum, factor, added);
    if (n % kStepsPerRescale == kStepsPerRescale - 1) {
      const int taken = exponent_to_take(product);
      product *= power_of_two<T>(-taken);
      exponent += taken;
    }
  });
  a.factors[which] = product;
  a.added[which] = sum;
  a.exponents[which] = exponent;
}

// Phase 2: from chunk to chunk.
template <class T>
void walk_across(const ColumnScan<T>& a) {
  const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (place >= a.cut.places) {
    return;
  }
  T state = a.initial[place];
  const long long count = a.cut.chunks - 1;
  for (long long n = 0; n < count; n += kReadAtOnce) {
    T factors[kReadAtOnce], added[kReadAtOnce];
    int exponents[kReadAtOnce];
#pragma unroll
    for (int r = 0; r < kReadAtOnce; ++r) {
      const long long at = (n + r < count ? n + r : count - 1) * a.cut.places + place;
      factors[r] = a.factors[at];
      added[r] = a.added[at];
      exponents[r] = a.exponents[at];
    }
#pragma unroll
    for (int r = 0; r < kReadAtOnce; ++r) {
      if (n + r < count) {
        a.carried[(n + r) * a.cut.places + place] = state;
        state = scalbn(state * factors[r], exponents[r]) + added[r];
      }
    }
  }
  a.carried[count * a.cut.places + place] = state;
}

// Phase 3: all chunks at once. With one chunk this is the whole scan.
template <class T>
void walk_inside(const ColumnScan<T>& a) {
  const long long which = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (which >= a.cut.chunks * a.cut.places) {
    return;
  }
  const long long chunk = which / a.cut.places, place = which % a.cut.places;
  const long long first = chunk * a.cut.chunk;
  T state = a.cut.chunks > 1 ? a.carried[which] : a.initial[place];
  for_steps(a, first, place, a.cut.count(chunk), [&](long long n, T factor, T added) {
    a.before[a.cut.position(first + n, place)] = state;
    state = fma(state, factor, added);
  });
  if (chunk == a.cut.chunks - 1) {
    a.last[place] = state;
  }
}

}  // namespace antichain::device
