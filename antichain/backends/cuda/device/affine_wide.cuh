// Affine scans with matrices of any size. Products of chunks grow by a step per launch, tile by
// tile; walks have a block each.
#pragma once

#include "antichain/backends/cuda/device/affine_scan.cuh"

namespace antichain::device {

template <class T>
struct WideScan {
  Chunks cut;
  long long size, step;      // of a state; of every chunk, the one to multiply by
  const T *a, *b, *initial;  // [steps, places, size, size], [steps, places, size], [places, size]
  T *before, *last;          // [steps, places, size], [places, size]
  T *product, *next;         // [chunks - 1, places, size, size], by rows
  T* added;                  // [chunks - 1, places, size]: what a chunk adds
  int* exponents;            // [chunks - 1, places]: powers of two beside the products
  int* largest;              // [chunk, chunks - 1, places]: exponents of the largest numbers
  T* carried;                // [chunks, places, size]: the states before each chunk

  long long products() const { return (cut.chunks - 1) * cut.places; }
  // The matrix of the n-th step of a product's chunk.
  const T* matrix(long long product, long long n) const {
    const long long first = product / cut.places * cut.chunk;
    return a + cut.position(first + n, product % cut.places) * size * size;
  }
};

constexpr int kNoExponent = -(1 << 30);  // below all others

// A product of one step. A thread has an element.
template <class T, bool kTransposed>
void begin_products(const WideScan<T>& a) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long numbers = a.size * a.size, product = i / numbers, at = i % numbers;
  if (product >= a.products()) {
    return;
  }
  const long long row = at / a.size, column = at % a.size;
  a.next[i] = a.matrix(product, 0)[kTransposed ? column * a.size + row : at];
  if (at == 0) {
    a.exponents[product] = 0;
    for (long long n = 0; n < a.cut.chunk; ++n) {
      a.largest[n * a.products() + product] = kNoExponent;
    }
  }
}

// next := matrix product, for all products at once, without the power of two that the product has
// got by the step before. A block has a tile of a product, a thread 4 x 4 numbers of it.
template <class T, bool kTransposed>
void multiply_step(const WideScan<T>& a, Piece<T>* shared) {
  constexpr int kEach = kTile * kSlab / kWideThreads, kOwn = 4;
  const int size = int(a.size), tiles = (size + kTile - 1) / kTile, thread = threadIdx.x;
  const long long product = blockIdx.x / (tiles * tiles);
  const int tile = int(blockIdx.x % (tiles * tiles));
  const int first_row = tile / tiles * kTile, first_column = tile % tiles * kTile;
  const T *const matrix = a.matrix(product, a.step), *const right =
                                                         a.product + product * size * size;
  T *const left_slab = &shared[0].at[0], *const right_slab = left_slab + kSlab * kLeftRow;
  T left_numbers[kEach], right_numbers[kEach];
  // Threads that are neighbours read neighbours.
  const auto fetch = [&](int first) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = thread + e * kWideThreads;
      const int k = first + (kTransposed ? i / kTile : i % kSlab);
      const int row = first_row + (kTransposed ? i % kTile : i / kSlab);
      const bool is_left = k < size && row < size;
      left_numbers[e] =
          is_left ? matrix[kTransposed ? (long long)k * size + row : (long long)row * size + k] : 0;
      const int inner = first + i / kTile, column = first_column + i % kTile;
      right_numbers[e] =
          inner < size && column < size ? right[(long long)inner * size + column] : 0;
    }
  };
  const int own_row = thread / (kTile / kOwn) * kOwn, own_column = thread % (kTile / kOwn) * kOwn;
  T sums[kOwn][kOwn] = {};
  fetch(0);
  for (int first = 0; first < size; first += kSlab) {
    __syncthreads();  // the slabs before have been used
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = thread + e * kWideThreads;
      const int k = kTransposed ? i / kTile : i % kSlab, row = kTransposed ? i % kTile : i / kSlab;
      left_slab[k * kLeftRow + row] = left_numbers[e];
      right_slab[i] = right_numbers[e];
    }
    __syncthreads();
    fetch(first + kSlab);
#pragma unroll
    for (int k = 0; k < kSlab; ++k) {
      T rows[kOwn], columns[kOwn];
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        rows[n] = left_slab[k * kLeftRow + own_row + n];
        columns[n] = right_slab[k * kTile + own_column + n];
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          sums[i][j] = fma(rows[i], columns[j], sums[i][j]);
        }
      }
    }
  }
  const int before = a.largest[(a.step - 1) * a.products() + product];
  const int most = kLargestExponent<T>;
  const int exponent = before == kNoExponent ? 0 : before > most ? most : before;
  const T factor = power_of_two<T>(-exponent);
  T largest = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int row = first_row + own_row + i, column = first_column + own_column + j;
      if (row < size && column < size) {
        const T value = sums[i][j] * factor, magnitude = fabs(value);
        a.next[product * size * size + (long long)row * size + column] = value;
        largest = magnitude > largest ? magnitude : largest;
      }
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    const T theirs = __shfl_xor_sync(0xffffffffu, largest, other);
    largest = theirs > largest ? theirs : largest;
  }
  if (thread % 32 == 0 && largest > 0) {
    atomicMax(a.largest + a.step * a.products() + product, exponent_of(largest));
  }
  if (tile == 0 && thread == 0) {
    a.exponents[product] += exponent;
  }
}

// Sums of a matrix times the state, in `parts` of size numbers: one, or one per warp.
template <class T, bool kTransposed>
void multiply_state(const T* matrix, const T* state, T* parts, int size) {
  constexpr int kWarps = kWideThreads / 32, kRows = 4;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if constexpr (kTransposed) {
    for (int i = lane; i < size; i += 32) {
      T sum = 0;
#pragma unroll 4
      for (int j = warp; j < size; j += kWarps) {
        sum = fma(matrix[(long long)j * size + i], state[j], sum);
      }
      parts[warp * size + i] = sum;
    }
  } else {
    for (int first = warp * kRows; first < size; first += kWarps * kRows) {
      T sums[kRows] = {};
#pragma unroll 2
      for (int j = lane; j < size; j += 32) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const int row = first + r < size ? first + r : size - 1;
          sums[r] = fma(matrix[(long long)row * size + j], state[j], sums[r]);
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int other = 16; other > 0; other /= 2) {
          sums[r] += __shfl_xor_sync(0xffffffffu, sums[r], other);
        }
        if (lane == 0 && first + r < size) {
          parts[first + r] = sums[r];
        }
      }
    }
  }
}

// Walks `count` steps. matrix(n) says where a matrix is, finish(n, i, sum) makes number i of the
// state after step n of the sum of products, give(n, i, value) takes the state before each step,
// and the last one as that before step `count`.
template <bool kTransposed, class T, class Matrix, class Finish, class Give>
void walk_wide(int size, long long count, const T* start, T* shared, Matrix matrix, Finish finish,
               Give give) {
  constexpr int kParts = kTransposed ? kWideThreads / 32 : 1;
  T *const state = shared, *const parts = shared + size;
  for (int i = threadIdx.x; i < size; i += kWideThreads) {
    state[i] = start ? start[i] : T(0);
    give(0, i, state[i]);
  }
  __syncthreads();
  for (long long n = 0; n < count; ++n) {
    multiply_state<T, kTransposed>(matrix(n), state, parts, size);
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += kWideThreads) {
      T sum = parts[i];
#pragma unroll
      for (int part = 1; part < kParts; ++part) {
        sum += parts[part * size + i];
      }
      state[i] = finish(n, i, sum);
      give(n + 1, i, state[i]);
    }
    __syncthreads();
  }
}

// What every chunk but the last makes of zeros: a block per product.
template <class T, bool kTransposed>
void walk_from_zeros(const WideScan<T>& a, Piece<T>* shared) {
  const long long product = blockIdx.x;
  const long long first = product / a.cut.places * a.cut.chunk, place = product % a.cut.places;
  walk_wide<kTransposed, T>(
      int(a.size), a.cut.chunk, nullptr, &shared[0].at[0],
      [&](long long n) { return a.matrix(product, n); },
      [&](long long n, int i, T sum) {
        return sum + a.b[a.cut.position(first + n, place) * a.size + i];
      },
      [&](long long n, int i, T value) {
        if (n == a.cut.chunk) {
          a.added[product * a.size + i] = value;
        }
      });
}

// From chunk to chunk: a block per place.
template <class T>
void walk_across(const WideScan<T>& a, Piece<T>* shared) {
  const long long place = blockIdx.x;
  const auto product = [&](long long chunk) { return chunk * a.cut.places + place; };
  walk_wide<false, T>(
      int(a.size), a.cut.chunks - 1, a.initial + place * a.size, &shared[0].at[0],
      [&](long long n) { return a.product + product(n) * a.size * a.size; },
      [&](long long n, int i, T sum) {
        return scalbn(sum, a.exponents[product(n)]) + a.added[product(n) * a.size + i];
      },
      [&](long long n, int i, T value) { a.carried[product(n) * a.size + i] = value; });
}

// All chunks at once, or all steps where there is one: a block per chunk and place.
template <class T, bool kTransposed>
void walk_inside(const WideScan<T>& a, Piece<T>* shared) {
  const long long which = blockIdx.x, chunk = which / a.cut.places, place = which % a.cut.places;
  const long long first = chunk * a.cut.chunk, count = a.cut.count(chunk);
  const T* const start = a.cut.chunks > 1 ? a.carried + which * a.size : a.initial + place * a.size;
  const auto at = [&](long long n) { return a.cut.position(first + n, place) * a.size; };
  walk_wide<kTransposed, T>(
      int(a.size), count, start, &shared[0].at[0],
      [&](long long n) { return a.a + at(n) * a.size; },
      [&](long long n, int i, T sum) { return sum + a.b[at(n) + i]; },
      [&](long long n, int i, T value) {
        if (n < count) {
          a.before[at(n) + i] = value;
        } else if (chunk == a.cut.chunks - 1) {
          a.last[place * a.size + i] = value;
        }
      });
}

}  // namespace antichain::device
