// Products of a long narrow matrix and a small one: out[k, n] = sum over m of a[k, m] b[m, n], plus
// bias[n], and relu of that.
//
// Blocks hold b in shared memory and go through tiles of rows of a, the next of which is copied
// while the one before is multiplied. A thread has some rows, each at runs of 4 columns: it reads 4
// numbers at once, and the threads of a warp write rows that lie one behind the other.
//
// Forms are constants: what a thread holds lies in registers. Copies to shared memory are those of
// tensor_core.cuh, which is included before, or of a test.
#pragma once

#include "antichain/backends/cuda/device/tall_form.cuh"

namespace antichain::device {

struct TallProductArguments {
  long long count, tiles, blocks;
  long long aligned_a, aligned_out;  // whether 16 bytes can be copied at once
  const float *a, *b, *bias;
  float* out;
};

struct alignas(16) FourNumbers {
  float at[4];
};

template <TallProductForm kForm>
void multiply_tiles(const TallProductArguments& a, FourNumbers* shared) {
  constexpr int kThreads = TallProductForm::kThreads;
  constexpr int kInner = kForm.whole_inner(), kWide = kForm.quads(), kPitch = kForm.pitch();
  constexpr int kRows = kForm.tile(), kFloats = kForm.tile_floats();
  constexpr int kN = kForm.columns, kM = kForm.inner, kR = kForm.own_rows, kQ = kForm.own_quads;
  float* const tiles = &shared[kWide * (kInner + 1)].at[0];
  const auto fetch = [&](long long tile, float* to) {
    const long long first = tile * kRows, rest = a.count - first;
    const int numbers = (rest < kRows ? int(rest) : kRows) * kM;
    const float* const from = a.a + first * kM;
    if (kM % 4 == 0 && a.aligned_a) {
      for (int i = threadIdx.x * 4; i < numbers; i += kThreads * 4) {
        copy_16_bytes(to + i / kM * kPitch + i % kM, from + i, true);
      }
    } else {
#pragma unroll 1
      for (int i = threadIdx.x; i < numbers; i += kThreads) {
        copy_4_bytes(to + i / kM * kPitch + i % kM, from + i, true);
      }
    }
  };
  fetch(blockIdx.x, tiles);
  for (int i = threadIdx.x; i < 4 * kWide * (kInner + 1); i += kThreads) {
    const int m = i / (4 * kWide), n = i % (4 * kWide);
    float number = 0;
    if (m < kM && n < kN) {
      number = a.b[kForm.transpose_b ? n * kM + m : m * kN + n];
    } else if (kForm.bias && m == kInner && n < kN) {
      number = a.bias[n];
    }
    (&shared[0].at[0])[i] = number;
  }
  if constexpr (kInner > kM) {  // nobody copies to these
    for (int row = threadIdx.x; row < 2 * kRows; row += kThreads) {
#pragma unroll
      for (int m = kM; m < kInner; ++m) {
        tiles[row * kPitch + m] = 0;
      }
    }
  }
  const int row = threadIdx.x / kForm.across, quad = threadIdx.x % kForm.across;
  const FourNumbers* const right = shared + quad;
  int turn = 0;
  for (long long tile = blockIdx.x; tile < a.tiles; tile += a.blocks) {
    wait_for_own_copies();
    __syncthreads();
    if (tile + a.blocks < a.tiles) {
      fetch(tile + a.blocks, tiles + (1 - turn) * kFloats);
    }
    if (row < kForm.down) {
      const float* const left = tiles + turn * kFloats + row * kPitch;
      float sums[kR][kQ][4] = {};
#pragma unroll 1
      for (int m = 0; m < kInner; m += 4) {
        FourNumbers y[4][kQ];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int q = 0; q < kQ; ++q) {
            y[i][q] = right[(m + i) * kWide + q * kForm.across];
          }
        }
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          const FourNumbers x = *(const FourNumbers*)(left + r * kForm.down * kPitch + m);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int q = 0; q < kQ; ++q) {
#pragma unroll
              for (int n = 0; n < 4; ++n) {
                sums[r][q][n] = __fmaf_rn(x.at[i], y[i][q].at[n], sums[r][q][n]);
              }
            }
          }
        }
      }
      const long long first = tile * kRows + row, rest = a.count - first;
      const int rows = rest < kRows ? int(rest) : kRows;  // that there are from the thread's first
      float* const out = a.out + first * kN + 4 * quad;
#pragma unroll
      for (int q = 0; q < kQ; ++q) {
        const FourNumbers bias = right[kInner * kWide + q * kForm.across];
        const int columns = kN - 4 * (quad + q * kForm.across);  // that there are from here on
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          FourNumbers four;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            float sum = sums[r][q][i];
            if constexpr (kForm.bias) {
              sum += bias.at[i];
            }
            if constexpr (kForm.relu) {
              sum = sum <= 0 ? 0 : sum;  // a NaN stays
            }
            four.at[i] = sum;
          }
          float* const to = out + r * kForm.down * kN + 4 * q * kForm.across;
          if (r * kForm.down < rows && columns > 0) {
            if (kN % 4 == 0 && a.aligned_out) {
              *(FourNumbers*)to = four;
            } else {
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                if (i < columns) {
                  to[i] = four.at[i];
                }
              }
            }
          }
        }
      }
    }
    turn = 1 - turn;
  }
}

}  // namespace antichain::device
