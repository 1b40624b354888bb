// Rows of states that go through the steps of a weighted scan (weighted_scan.cuh) by products of
// tensor cores.
#pragma once

#include "antichain/backends/cuda/device/weighted_steps.cuh"

namespace antichain::device {

// Rows of a warp on their way through the steps of their chunks.
template <class Form, bool kMultiplies>
class RowWalk {
  static constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  static constexpr int N = kLayout.state(), H = kLayout.units, kEights = kLayout.eights();
  static constexpr int kStates = Form::states, kCoefficients = kLayout.values;
  static constexpr int kStep = kLayout.step_floats();

 public:
  static constexpr int kTiles = kMultiplies ? kLayout.tiles() : 1;
  static constexpr int kColumns = kMultiplies ? kLayout.columns() : 1;  // rows of a walk
  static constexpr int kWalks = kLayout.walks(kTiles, kColumns);

  // `memory` is for the ring. There must be rows for the warp.
  RowWalk(const ScanArguments<Form>& a, const Four* weights, Four* memory, long long first_row,
          long long walks)
      : a_(a),
        weights_(weights),
        lane_(threadIdx.x % 32),
        first_row_(first_row + lane_ / 4),
        rows_(walks * kColumns),
        ring_(a, memory, first_row / kColumns, walks) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      local_[i] = is_there(i) ? int(walk(i) - first_row / kColumns) * kStep : 0;
      adds_ |= (!kMultiplies || column(i) == N ? 1u : 0u) << i;
      if constexpr (!kMultiplies) {
        const long long start = is_there(i) ? ring_.start_of(walk(i)) : 0;
        at_[i] = start;
        left_[i] = is_there(i) ? ring_.steps_from(start) : 0;
      }
    }
    start_rows();
  }

  void run() {
    for (int n = 0; n < a_.chunk; ++n) {
      take_step(ring_.advance(n), n);
    }
    if constexpr (kMultiplies) {
      store_products();
    }
  }

 private:
  static constexpr int kRows = 2 * kTiles;
  // Products of tensor cores side by side, for each tile: they do not wait for each other. A warp
  // that is nearly alone takes more of them.
  static constexpr int kTogether = kTiles == 1 ? 4 : 2;
  static constexpr int kDeep = kMultiplies ? 1 : kEights <= 4 ? kEights : 2;

  using Tiles = float[kTiles][kStates][kEights][4];

  // The rows of a lane are eight apart. What is seldom asked of them is found again each time:
  // registers are scarce.
  long long row(int i) const { return first_row_ + 8 * i; }
  bool is_there(int i) const { return row(i) < rows_; }
  long long walk(int i) const { return row(i) / kColumns; }
  int column(int i) const { return int(row(i) % kColumns); }

  void start_rows() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float* const start = (a_.chunks > 1 ? a_.carried : a_.initial) + walk(i) * N;
      for_each_pair(i, state_, [&](int part, int k, float* pair) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int at = part * H + unit(k) + j;
          if constexpr (kMultiplies) {
            pair[j] = holds(k, j) && at == column(i) ? 1 : 0;
          } else {
            pair[j] = holds(k, j) && is_there(i) ? start[at] : 0;
          }
        }
      });
    }
  }

  // The first unit of the k-th eight that the lane holds a number of, and whether it is of the
  // first (j = 0) or second one.
  int unit(int k) const { return kLayout.first_unit(k, lane_ % 4); }
  bool holds(int k, int j) const {
    return kLayout.is_half(k) ? j == 0 && unit(k) < H : unit(k) + j < H;
  }

  // Calls f with the part, the eight and the pair for all numbers of a row that the lane holds.
  template <class F>
  void for_each_pair(int i, Tiles& tiles, F f) const {
#pragma unroll
    for (int part = 0; part < kStates; ++part) {
#pragma unroll
      for (int k = 0; k < kEights; ++k) {
        f(part, k, &tiles[i / 2][part][k][i % 2 * 2]);
      }
    }
  }

  // Stores a pair to where the numbers of a part begin.
  void store_pair(float* part, int k, const float* pair) const {
    if (H % 2 == 0 && !kLayout.is_half(k)) {
      if (holds(k, 0)) {
        *(Two*)(part + unit(k)) = {pair[0], pair[1]};
      }
    } else {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        if (holds(k, j)) {
          part[unit(k) + j] = pair[j];
        }
      }
    }
  }

  // Two numbers of a part. Where the lane holds none they are others: what it multiplies them by is
  // 0 there.
  Two load_pair(const float* part, int k) const {
    if (H % 2 == 0 && !kLayout.is_half(k)) {
      return *(const Two*)(part + (holds(k, 0) ? unit(k) : 0));
    }
    return {part[holds(k, 0) ? unit(k) : 0],
            kLayout.is_half(k) ? 0 : part[holds(k, 1) ? unit(k) + 1 : 0]};
  }

  // `values` are those of the step, of all walks.
  void take_step(const float* values, int n) {
    Tiles next = {};
    if constexpr (Form::adds != 0) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float* const b = values + local_[i] + kCoefficients * H;
        const bool adds = adds_ >> i & 1;
        for_each_pair(i, next, [&](int part, int k, float* pair) {
          const Two two = load_pair(b + part * H, k);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            pair[j] = adds && holds(k, j) ? two.at[j] : 0;
          }
        });
      }
    }
    if constexpr (!kMultiplies) {
      store_states(n);
    }
    add_diagonals(values, next);
#pragma unroll
    for (int w = 0; w < Form::weights; ++w) {
#pragma unroll
      for (int k = 0; k < kEights; k += kDeep) {
        add_weight(values, n, w, k, next);
      }
    }
    take_over(n, next);
    if constexpr (!kMultiplies) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        at_[i] += ring_.stride();
      }
    }
  }

  void add_diagonals(const float* values, Tiles& next) const {
#pragma unroll
    for (int d = 0; d < Form::diagonals; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int k = 0; k < kEights; ++k) {
          const Two factors = load_pair(values + local_[i] + d * H, k);
          float* const to = &next[i / 2][listed(Form::diagonal_to, d)][k][i % 2 * 2];
          const float* const from = &state_[i / 2][listed(Form::diagonal_from, d)][k][i % 2 * 2];
          to[0] += factors.at[0] * from[0];
          if (!kLayout.is_half(k)) {
            to[1] += factors.at[1] * from[1];
          }
        }
      }
    }
  }

  // Whether nothing is added to a part before the first products of a weight.
  static constexpr bool begins(int weight) {
    const int to = listed(Form::weight_to, weight);
    for (int d = 0; d < Form::diagonals; ++d) {
      if (listed(Form::diagonal_to, d) == to) {
        return false;
      }
    }
    for (int w = 0; w < weight; ++w) {
      if (listed(Form::weight_to, w) == to) {
        return false;
      }
    }
    return Form::adds == 0;
  }

  // Adds the products of a weight with some eights of its u, from `first_k` on.
  void add_weight(const float* values, int n, int w, int first_k, Tiles& next) const {
    float leading[kDeep][kTiles][4], rest[kDeep][kTiles][4];
#pragma unroll
    for (int d = 0; d < kDeep && first_k + d < kEights; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        split_factors(values, n, w, first_k + d, i, &leading[d][i / 2][i % 2 * 2],
                      &rest[d][i / 2][i % 2 * 2]);
      }
    }
    const Four* const own = weights_ + (w * kEights + first_k) * kEights * 32 + lane_;
    const int to = listed(Form::weight_to, w);
#pragma unroll
    for (int first = 0; first < kEights; first += kTogether) {
      // Small products first. Tensor cores round towards 0, so longer sums are not left to them.
      float sums[kDeep][kTogether][kTiles][4];
#pragma unroll
      for (int product = 0; product < 3; ++product) {
#pragma unroll
        for (int d = 0; d < kDeep && first_k + d < kEights; ++d) {
#pragma unroll
          for (int m = 0; m < kTogether && first + m < kEights; ++m) {
            const Four four = own[(d * kEights + first + m) * 32];
#pragma unroll
            for (int tile = 0; tile < kTiles; ++tile) {
              multiply(product, kLayout.is_half(first_k + d), sums[d][m][tile], leading[d][tile],
                       rest[d][tile], four);
            }
          }
        }
      }
#pragma unroll
      for (int d = 0; d < kDeep && first_k + d < kEights; ++d) {
#pragma unroll
        for (int m = 0; m < kTogether && first + m < kEights; ++m) {
#pragma unroll
          for (int e = 0; e < 4 * kTiles; ++e) {
            if (!kLayout.is_half(first + m) || e % 2 == 0) {
              const float sum = sums[d][m][e / 4][e % 4];
              float& whole = next[e / 4][to][first + m][e % 4];
              whole = begins(w) && first_k + d == 0 ? sum : whole + sum;
            }
          }
        }
      }
    }
  }

  // One of the three products that matter; the first is with what is left of the weight.
  static void multiply(int product, bool is_half, float (&sums)[4], const float (&leading)[4],
                       const float (&rest)[4], const Four& weight) {
    const auto& left = product == 1 ? rest : leading;
    if (is_half) {
      product == 0 ? set_half_product(sums, left, weight.at[2])
                   : add_half_product(sums, left, weight.at[0]);
    } else {
      product == 0 ? set_short_product(sums, left, weight.at[2], weight.at[3])
                   : add_short_product(sums, left, weight.at[0], weight.at[1]);
    }
  }

  // Two numbers of a weight's u, of a row, as sums of two that tensor cores take.
  void split_factors(const float* values, int n, int w, int k, int i, float* leading,
                     float* rest) const {
    float u[2] = {};
    bool is_first = true;
#pragma unroll
    for (int x = 0; x < Form::products; ++x) {
      if (listed(Form::product_weight, x) == w) {
        const Two factors = load_pair(values + local_[i] + (Form::diagonals + x) * H, k);
        const float* const from = &state_[i / 2][listed(Form::product_from, x)][k][i % 2 * 2];
#pragma unroll
        for (int j = 0; j < (kLayout.is_half(k) ? 1 : 2); ++j) {
          u[j] = is_first ? factors.at[j] * from[j] : u[j] + factors.at[j] * from[j];
        }
        is_first = false;
      }
    }
    if (!kMultiplies && a_.factors[w] != nullptr && n < left_[i]) {
      store_pair(a_.factors[w] + at_[i] * H, k, u);
    }
#pragma unroll
    for (int j = 0; j < (kLayout.is_half(k) ? 1 : 2); ++j) {
      leading[j] = leading_part(u[j]);
      rest[j] = u[j] - leading[j];
    }
  }

  void take_over(int n, Tiles& next) {
    if (!kMultiplies && n == a_.steps - 1 - (a_.chunks - 1) * a_.chunk) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        if (is_there(i) && walk(i) >= (a_.chunks - 1) * a_.places) {
          float* const last = a_.last + walk(i) % a_.places * N;
          for_each_pair(
              i, next, [&](int part, int k, float* pair) { store_pair(last + part * H, k, pair); });
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int part = 0; part < kStates; ++part) {
#pragma unroll
        for (int e = 0; e < kEights * 4; ++e) {
          state_[tile][part][e / 4][e % 4] = next[tile][part][e / 4][e % 4];
        }
      }
    }
    if (kMultiplies && n % kStepsPerRescale == kStepsPerRescale - 1) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        rescale(i);
      }
    }
  }

  // The largest number of a row, which the lanes of a quad share.
  float largest_of(int i) {
    float largest = 0;
    for_each_pair(i, state_, [&](int, int, float* pair) {
      largest = fmaxf(largest, fmaxf(fabsf(pair[0]), fabsf(pair[1])));
    });
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    return fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  }

  // Takes the largest power of two out of a row, so that products over many steps stay in range.
  void rescale(int i) {
    const float largest = largest_of(i);
    if (largest > 0 && !isinf(largest) && column(i) < N) {
      const int exponent = ilogbf(largest);
      const PowerOfTwo inverse(-exponent);
      for_each_pair(i, state_, [&](int, int, float* pair) {
        pair[0] = inverse.times(pair[0]);
        pair[1] = inverse.times(pair[1]);
      });
      exponents_[i] += exponent;
    }
  }

  void store_states(int n) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (n < left_[i] && a_.before != nullptr) {
        for_each_pair(i, state_, [&](int part, int k, float* pair) {
          store_pair(a_.before + at_[i] * N + part * H, k, pair);
        });
      }
    }
  }

  // A row is a column of the product. One of zeros has no exponent, however large it was once: what
  // it is multiplied by must not leave the range.
  void store_products() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int exponent = largest_of(i) == 0 ? 0 : exponents_[i];
      if (is_there(i)) {
        float* const product = a_.products + walk(i) * kLayout.product_floats() + column(i);
        if (lane_ % 4 == 0) {
          *(int*)(product + N * kLayout.width()) = exponent;
        }
        for_each_pair(i, state_, [&](int part, int k, float* pair) {
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            if (holds(k, j)) {
              product[(part * H + unit(k) + j) * kLayout.width()] = pair[j];
            }
          }
        });
      }
    }
  }

  const ScanArguments<Form>& a_;
  const Four* weights_;
  int lane_;
  long long first_row_, rows_;  // the lane's, and of all warps
  StepRing<Form, kWalks> ring_;
  int local_[kRows];  // where the values of its walk are in a step
  int exponents_[kRows] = {};
  unsigned adds_ = 0;                      // a bit per row: b is added
  long long at_[kMultiplies ? 1 : kRows];  // the step and place of a row
  int left_[kMultiplies ? 1 : kRows];      // steps
  Tiles state_;
};

template <class Form, bool kMultiplies>
void walk_rows(const ScanArguments<Form>& a, Four* shared) {
  using Walk = RowWalk<Form, kMultiplies>;
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  split_weights<Form>(a.weights, shared);
  __syncthreads();
  const int warp = threadIdx.x / 32;
  const long long walks = (kMultiplies ? a.chunks - 1 : a.chunks) * a.places;
  const long long first_row =
      ((long long)blockIdx.x * (blockDim.x / 32) + warp) * Walk::kTiles * kTileRows;
  if (first_row < walks * Walk::kColumns) {
    Four* const memory =
        shared + kLayout.weight_floats() / 4 + warp * (kLayout.warp_floats(Walk::kWalks) / 4);
    Walk(a, shared, memory, first_row, walks).run();
  }
}

}  // namespace antichain::device
