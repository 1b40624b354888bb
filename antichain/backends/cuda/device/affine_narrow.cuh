// Affine scans with matrices of up to 32 x 32 numbers, in three phases: the product of every chunk,
// columns in registers; from chunk to chunk; and all chunks at once, step by step.
//
// Lanes of a warp that belong together have a product or a walk; small ones share a warp. Matrices
// come to shared memory some steps before they are needed. Lanes without a product or a step left
// go on with the others of their warp and touch nothing.
#pragma once

#include "antichain/backends/cuda/device/affine_scan.cuh"

namespace antichain::device {

template <class T>
struct NarrowScan {
  Chunks cut;
  long long aligned;         // whether a begins at a multiple of 16 bytes
  const T *a, *b, *initial;  // [steps, places, N, N], [steps, places, N], [places, N]
  T *before, *last;          // [steps, places, N], [places, N]
  T* products;               // [chunks - 1, places, a record of pieces]
  T* carried;                // [chunks, places, N]: the states before each chunk
};

template <class T, int N>
constexpr NarrowSizes kSizes{N, sizeof(T)};

// Begins to copy a step to shared memory, with rows in pieces: a matrix, by all lanes that belong
// together, and behind it what is added, each number by the lane that has it.
template <class T, int N, int kLanes>
void begin_step(const NarrowScan<T>& a, long long at, int lane, Piece<T>* stage) {
  constexpr int kPiece = kSizes<T, N>.piece(), kRow = kSizes<T, N>.wide() * kPiece;
  const T* const matrix = a.a + at * (N * N);
  T* const numbers = &stage[0].at[0];
  bool is_begun = false;
  if constexpr (N % kPiece == 0) {
    if (a.aligned) {
      for (int i = lane; i < N * N / kPiece; i += kLanes) {
        copy_16_bytes(stage + i, matrix + i * kPiece, true);
      }
      is_begun = true;
    }
  }
  if (!is_begun) {
    for (int i = lane; i < N * N; i += kLanes) {
      copy_number(numbers + i / N * kRow + i % N, matrix + i);
    }
  }
  for (int row = lane; row < N; row += kLanes) {
    copy_number(numbers + N * kRow + row, a.b + at * N + row);
  }
}

// Returns a row of a matrix times a vector, plus `sum`. Behind their ends both hold zeros.
template <class T, int N, bool kTransposed>
T row_times(const Piece<T>* matrix, const Piece<T>* vector, int row, T sum) {
  constexpr int kPiece = kSizes<T, N>.piece(), kWide = kSizes<T, N>.wide();
  T sums[4] = {sum, 0, 0, 0};
#pragma unroll
  for (int q = 0; q < kWide; ++q) {
    if constexpr (kTransposed) {
      const Piece<T> factors = vector[q];
      const T* const column = &matrix[0].at[0] + row;
#pragma unroll
      for (int m = 0; m < kPiece; ++m) {
        const int j = q * kPiece + m;
        if (j < N) {
          sums[j % 4] = fma(column[j * kWide * kPiece], factors.at[m], sums[j % 4]);
        }
      }
    } else {
      // Where rows begin an even number of pieces apart, lanes start at different ones: they would
      // all ask the same banks.
      int at = q;
      if constexpr (kWide % 2 == 0) {
        at += row % kWide;
        at -= at >= kWide ? kWide : 0;
      }
      const Piece<T> factors = vector[at], own = matrix[row * kWide + at];
#pragma unroll
      for (int m = 0; m < kPiece; ++m) {
        const int j = q * kPiece + m;
        sums[j % 4] = fma(own.at[m], factors.at[m], sums[j % 4]);
      }
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// columns := matrix columns
template <class T, int N, bool kTransposed, int kOwn>
void multiply_columns(const Piece<T>* matrix, T (&columns)[kOwn][N]) {
  constexpr int kPiece = kSizes<T, N>.piece(), kWide = kSizes<T, N>.wide();
  T next[kOwn][N] = {};
#pragma unroll
  for (int i = 0; i < N; ++i) {
#pragma unroll
    for (int q = 0; q < kWide; ++q) {
      const Piece<T> row = matrix[i * kWide + q];
#pragma unroll
      for (int m = 0; m < kPiece; ++m) {
        const int j = q * kPiece + m;
        if (j < N) {
          const int from = kTransposed ? i : j, to = kTransposed ? j : i;
#pragma unroll
          for (int c = 0; c < kOwn; ++c) {
            next[c][to] = fma(row.at[m], columns[c][from], next[c][to]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int c = 0; c < kOwn; ++c) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      columns[c][i] = next[c][i];
    }
  }
}

// Takes the largest power of two out of a column and returns its exponent.
template <class T, int N>
int rescale(T (&column)[N]) {
  T largest = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const T size = fabs(column[i]);
    largest = size > largest ? size : largest;
  }
  const int exponent = exponent_to_take(largest);
  const T factor = power_of_two<T>(-exponent);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    column[i] *= factor;
  }
  return exponent;
}

// Phase 1: the products of all chunks but the last, which nobody asks for.
template <class T, int N, bool kTransposed>
void multiply_chunks(const NarrowScan<T>& a, Piece<T>* shared) {
  constexpr NarrowSizes s = kSizes<T, N>;
  constexpr int kLanes = s.product_lanes(), kOwn = s.columns_per_lane(), kWide = s.wide();
  constexpr int kRow = kWide * s.piece(), kStages = s.product_stages(), kStage = s.record();
  const int lane = threadIdx.x % kLanes;
  const long long product = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const bool is_there = product < (a.cut.chunks - 1) * a.cut.places;
  const long long first = product / a.cut.places * a.cut.chunk, place = product % a.cut.places;
  const long long count = is_there ? a.cut.chunk : 0;
  shared += threadIdx.x / kLanes * s.of_product();
  Piece<T>* const vectors = shared + kStages * kStage;
  for (int i = lane; i < s.of_product(); i += kLanes) {
    shared[i] = {};
  }
  __syncwarp();
  const auto begin = [&](long long n, int stage) {
    if (n < count) {
      begin_step<T, N, kLanes>(a, a.cut.position(first + n, place), lane, shared + stage * kStage);
    }
    end_copies();
  };
  // What is added is one more column, by rows: lanes have as many of these as columns.
  T columns[kOwn][N], added[kOwn] = {};
  int exponents[kOwn] = {};
#pragma unroll
  for (int c = 0; c < kOwn; ++c) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      columns[c][i] = lane + c * kLanes == i ? 1 : 0;
    }
  }
  for (int n = 0; n < kStages - 1; ++n) {
    begin(n, n);
  }
  int stage = 0;
  for (long long n = 0; n < a.cut.chunk; ++n) {
    wait_for_copies<kStages - 2>();
    const Piece<T>* const step = shared + stage * kStage;
    Piece<T>* const vector = vectors + n % 2 * kWide;
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      if (lane + c * kLanes < N) {
        (&vector[0].at[0])[lane + c * kLanes] = added[c];
      }
    }
    __syncwarp();
    begin(n + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    multiply_columns<T, N, kTransposed>(step, columns);
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      const int row = lane + c * kLanes < N ? lane + c * kLanes : N - 1;
      added[c] = row_times<T, N, kTransposed>(step, vector, row, (&step[N * kWide].at[0])[row]);
    }
    if (n % kStepsPerRescale == kStepsPerRescale - 1) {
#pragma unroll
      for (int c = 0; c < kOwn; ++c) {
        exponents[c] += rescale(columns[c]);
      }
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
#pragma unroll
  for (int c = 0; c < kOwn; ++c) {
    const int own = lane + c * kLanes;
    if (is_there && own < N) {
      T* const record = a.products + product * (kStage * s.piece());
#pragma unroll
      for (int i = 0; i < N; ++i) {
        record[own * kRow + i] = columns[c][i];
      }
      record[N * kRow + own] = added[c];
      record[(N + 1) * kRow + own] = T(exponents[c]);
    }
  }
}

// Walks `count` steps from the state whose row `lane` is given, and returns that row of the last
// one. begin(n, stage) begins to copy step n, give(n, state) takes the state before it. All walks
// of a warp come for `most` steps. With kScaled, matrices have an exponent per column.
template <class T, int N, bool kTransposed, bool kScaled, class Begin, class Give>
T walk(T state, int lane, long long count, long long most, Piece<T>* shared, Begin begin,
       Give give) {
  constexpr NarrowSizes s = kSizes<T, N>;
  constexpr int kLanes = s.walk_lanes(), kStages = s.walk_stages(), kStage = s.record();
  constexpr int kWide = s.wide(), kRow = kWide * s.piece();
  const int row = lane < N ? lane : N - 1;
  for (int i = lane; i < s.of_walk(); i += kLanes) {
    shared[i] = {};
  }
  __syncwarp();
  const auto begin_if_there = [&](long long n, int stage) {
    if (n < count) {
      begin(n, shared + stage * kStage);
    }
    end_copies();
  };
  for (int n = 0; n < kStages - 1; ++n) {
    begin_if_there(n, n);
  }
  int stage = 0;
  for (long long n = 0; n < most; ++n) {
    wait_for_copies<kStages - 2>();
    const Piece<T>* const step = shared + stage * kStage;
    Piece<T>* const vector = shared + kStages * kStage + n % 2 * kWide;
    const T* const behind = &step[N * kWide].at[0];  // what is added, and exponents
    if (lane < N) {
      if (n < count) {
        give(n, state);
      }
      (&vector[0].at[0])[lane] = kScaled ? scalbn(state, int(behind[kRow + lane])) : state;
    }
    __syncwarp();
    begin_if_there(n + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    const T next = row_times<T, N, kTransposed>(step, vector, row, behind[row]);
    state = n < count ? next : state;
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  return state;
}

// Phase 2: from chunk to chunk. Columns of products are rows of what was stored.
template <class T, int N>
void walk_across(const NarrowScan<T>& a, Piece<T>* shared) {
  constexpr NarrowSizes s = kSizes<T, N>;
  constexpr int kLanes = s.walk_lanes(), kMatrix = N * s.wide(), kRow = s.wide() * s.piece();
  const int lane = threadIdx.x % kLanes, row = lane < N ? lane : N - 1;
  const long long place = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const bool is_there = place < a.cut.places;
  const auto begin = [&](long long n, Piece<T>* stage) {
    const T* const from = a.products + (n * a.cut.places + place) * (s.record() * s.piece());
    for (int i = lane; i < kMatrix; i += kLanes) {
      copy_16_bytes(stage + i, from + i * s.piece(), true);
    }
    T* const behind = &stage[kMatrix].at[0];
    if (lane < N) {
      copy_number(behind + lane, from + N * kRow + lane);
      copy_number(behind + kRow + lane, from + (N + 1) * kRow + lane);
    }
  };
  const auto give = [&](long long n, T state) {
    a.carried[(n * a.cut.places + place) * N + lane] = state;
  };
  const T last = walk<T, N, true, true>(is_there ? a.initial[place * N + row] : T(0), lane,
                                        is_there ? a.cut.chunks - 1 : 0, a.cut.chunks - 1,
                                        shared + threadIdx.x / kLanes * s.of_walk(), begin, give);
  if (is_there && lane < N) {
    give(a.cut.chunks - 1, last);
  }
}

// Phase 3: all chunks at once. With one chunk this is the whole scan, step by step.
template <class T, int N, bool kTransposed>
void walk_inside(const NarrowScan<T>& a, Piece<T>* shared) {
  constexpr NarrowSizes s = kSizes<T, N>;
  constexpr int kLanes = s.walk_lanes();
  const int lane = threadIdx.x % kLanes, row = lane < N ? lane : N - 1;
  const long long which = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  const bool is_there = which < a.cut.chunks * a.cut.places;
  const long long chunk = which / a.cut.places, place = which % a.cut.places;
  const long long first = chunk * a.cut.chunk;
  const auto begin = [&](long long n, Piece<T>* stage) {
    begin_step<T, N, kLanes>(a, a.cut.position(first + n, place), lane, stage);
  };
  const auto give = [&](long long n, T state) {
    a.before[a.cut.position(first + n, place) * N + lane] = state;
  };
  const T* const start = a.cut.chunks > 1 ? a.carried + which * N : a.initial + place * N;
  const T last = walk<T, N, kTransposed, false>(
      is_there ? start[row] : T(0), lane, is_there ? a.cut.count(chunk) : 0, a.cut.chunk,
      shared + threadIdx.x / kLanes * s.of_walk(), begin, give);
  if (is_there && lane < N && chunk == a.cut.chunks - 1) {
    a.last[place * N + lane] = last;
  }
}

}  // namespace antichain::device
