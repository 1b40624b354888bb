// Sums over a long axis of products of narrow matrices: out[m, n] = sum over k of a[k, m] b[k, n],
// where k may be the axis of either that lies packed (`along`). The columns of either may be those
// of several matrices, and the last one of b ones.
//
// sum_tiles: a block copies tiles of both to shared memory, the next one while it multiplies the
// one before. Groups of threads take the steps of a tile in turn, and each group holds all sums: a
// thread those of rows i, i + down, ... and columns j, j + across, ...; it reads few numbers for
// many sums, and neighbours read neighbouring numbers. At the end groups are added in pairs, and
// every block writes its sums. join_parts adds those of all blocks, in double.
//
// Forms are constants: what a thread holds lies in registers. Copies to shared memory are those of
// tensor_core.cuh, which is included before, or of a test.
#pragma once

#include "antichain/backends/cuda/device/tall_form.cuh"

namespace antichain::device {

struct TallReductionArguments {
  long long count, tiles, parts;
  float *found, *out;              // [parts, rows, columns], [rows, columns]
  long long aligned_a, aligned_b;  // a bit for each matrix: 16 bytes can be copied at once
  const float *a[TallSources::kMost], *b[TallSources::kMost];
};

// Begins to copy the steps of a matrix from `first` on, and zeros behind the last of `count`.
template <TallTile kTile, int kSource, int kThreads>
void fetch_steps(const float* from, long long count, long long first, bool aligned, float* to) {
  constexpr int kSteps = kTile.steps, kWidth = kTile.from.widths[kSource];
  constexpr int kColumn = kTile.from.first(kSource);
  const int steps = count - first < kSteps ? int(count - first) : kSteps;
  const float* const start = from + (kTile.along ? first : first * kWidth);
  if (kTile.takes_fours(kSource) && aligned && steps == kSteps) {
    for (int i = threadIdx.x; i < kSteps * kWidth / 4; i += kThreads) {
      if constexpr (kTile.is_packed()) {  // runs of 4 go over the ends of steps
        copy_16_bytes(to + 4 * i, start + 4 * i, true);
      } else if constexpr (kTile.along) {
        const int n = i / (kSteps / 4), step = i % (kSteps / 4) * 4;
        copy_16_bytes(to + kTile.at(step, n), start + n * count + step, true);
      } else if constexpr (kTile.takes_fours(kSource)) {
        const int step = i / (kWidth / 4), n = i % (kWidth / 4) * 4;
        copy_16_bytes(to + kTile.at(step, kColumn + n), start + 4 * i, true);
      }
    }
  } else {
#pragma unroll 1
    for (int i = threadIdx.x; i < kSteps * kWidth; i += kThreads) {
      const int step = kTile.along ? i % kSteps : i / kWidth;
      const int n = kTile.along ? i / kSteps : i % kWidth;
      const bool wanted = step < steps;
      const float* const place = kTile.along ? start + n * count + step : start + i;
      copy_4_bytes(to + kTile.at(step, kColumn + n), wanted ? place : from, wanted);
    }
  }
}

template <TallTile kTile, int kThreads, int kSource = 0>
void fetch_sources(const float* const* from, long long count, long long first, long long aligned,
                   float* to) {
  if constexpr (kSource < kTile.from.count()) {
    const bool is_aligned = (aligned >> kSource) % 2 == 1;
    fetch_steps<kTile, kSource, kThreads>(from[kSource], count, first, is_aligned, to);
    fetch_sources<kTile, kThreads, kSource + 1>(from, count, first, aligned, to);
  }
}

// Ones stay where they are, whatever tile is copied beside them: behind the last step they meet
// zeros.
template <TallTile kTile, int kThreads>
void write_ones(float* to) {
  if constexpr (kTile.from.ones) {
    for (int step = threadIdx.x; step < kTile.steps; step += kThreads) {
      to[kTile.at(step, kTile.size() - 1)] = 1;
    }
  }
}

template <TallReductionForm kForm>
void sum_tiles(const TallReductionArguments& a, float* shared) {
  constexpr TallTile kA = kForm.a(), kB = kForm.b();
  constexpr int kFloatsA = kA.floats(), kFloats = kForm.tile_floats();  // of a tile
  constexpr int kThreads = TallReductionForm::kThreads;
  constexpr int kGroup = kForm.group(), kGroups = kForm.groups(), kSums = kForm.sums();
  constexpr int kR = kForm.own_rows, kC = kForm.own_columns;
  const int group = threadIdx.x / kGroup, own = threadIdx.x % kGroup;
  const int row = own / kForm.across, column = own % kForm.across;
  const auto fetch = [&](long long tile, float* to) {
    fetch_sources<kA, kThreads>(a.a, a.count, tile * kForm.tile, a.aligned_a, to);
    fetch_sources<kB, kThreads>(a.b, a.count, tile * kForm.tile, a.aligned_b, to + kFloatsA);
  };
  write_ones<kB, kThreads>(shared + kFloatsA);
  write_ones<kB, kThreads>(shared + kFloats + kFloatsA);
  float sums[kR][kC] = {};
  fetch(blockIdx.x, shared);
  int turn = 0;
  for (long long tile = blockIdx.x; tile < a.tiles; tile += a.parts) {
    wait_for_own_copies();
    __syncthreads();
    if (tile + a.parts < a.tiles) {
      fetch(tile + a.parts, shared + (1 - turn) * kFloats);
    }
    if (group < kGroups) {
      const float* const x = shared + turn * kFloats + kA.at(0, row);
      const float* const y = shared + turn * kFloats + kFloatsA + kB.at(0, column);
#pragma unroll 2
      for (int step = group; step < kForm.tile; step += kGroups) {
        float left[kR], right[kC];
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          left[r] = x[kA.at(step, r * kForm.down)];
        }
#pragma unroll
        for (int c = 0; c < kC; ++c) {
          right[c] = y[kB.at(step, c * kForm.across)];
        }
#pragma unroll
        for (int r = 0; r < kR; ++r) {
#pragma unroll
          for (int c = 0; c < kC; ++c) {
            sums[r][c] = __fmaf_rn(left[r], right[c], sums[r][c]);
          }
        }
      }
    }
    turn = 1 - turn;
  }
  constexpr int kGiven = kGroups / 2 * kGroup;  // threads that give their sums at once, at most
#pragma unroll 1
  for (int groups = kGroups; groups > 1; groups = (groups + 1) / 2) {
    const int kept = (groups + 1) / 2;
    __syncthreads();
    if (group >= kept && group < groups) {
#pragma unroll
      for (int n = 0; n < kSums; ++n) {
        shared[n * kGiven + threadIdx.x - kept * kGroup] = sums[n / kC][n % kC];
      }
    }
    __syncthreads();
    if (group < groups - kept) {
#pragma unroll
      for (int n = 0; n < kSums; ++n) {
        sums[n / kC][n % kC] += shared[n * kGiven + threadIdx.x];
      }
    }
  }
  if (group == 0) {
    constexpr int kRows = kForm.rows(), kColumns = kForm.columns();
    const long long results = kRows * kColumns;
    float* const found = a.found + blockIdx.x * results + row * kColumns + column;
#pragma unroll
    for (int r = 0; r < kR; ++r) {
#pragma unroll
      for (int c = 0; c < kC; ++c) {
        const int m = r * kForm.down, n = c * kForm.across;
        if (row < kRows - m && column < kColumns - n) {
          found[m * kColumns + n] = sums[r][c];
        }
      }
    }
  }
}

constexpr int kJoinedTogether = 32, kJoiningThreads = 1024;  // results of a block, a warp each

// Warp w adds up every 32nd part from w on, a lane for each of 32 results; then it has result w.
// `shared` has room for 32 x 33 numbers.
template <TallReductionForm kForm>
void join_parts(const TallReductionArguments& a, double* shared) {
  constexpr int kResults = kForm.rows() * kForm.columns(), kPitch = kJoinedTogether + 1;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first = blockIdx.x * kJoinedTogether;
  // All are on their way before the first is added.
  constexpr int kOwn = (kTallBlocks + 31) / 32;
  float numbers[kOwn];
#pragma unroll
  for (int n = 0; n < kOwn; ++n) {
    const int part = warp + 32 * n;
    const bool is_there = first + lane < kResults && part < a.parts;
    numbers[n] = is_there ? a.found[part * kResults + first + lane] : 0;
  }
  double sum = 0;
#pragma unroll
  for (int n = 0; n < kOwn; ++n) {
    sum += double(numbers[n]);
  }
  shared[warp * kPitch + lane] = sum;
  __syncthreads();
  sum = shared[lane * kPitch + warp];
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (lane == 0 && first + warp < kResults) {
    a.out[first + warp] = float(sum);
  }
}

}  // namespace antichain::device
