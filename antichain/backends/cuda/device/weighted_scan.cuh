// The three phases of a weighted scan (docs/design/scan.md): products of chunks of steps, the walk
// across chunks, and the walks inside of all chunks at the same time.
//
// A state has `states` parts of `units` numbers, N in all. A step is
//   g[to] := b[to] + sum of diagonals d ∘ g[from] + sum of weights M u,   u = sum of c ∘ g[from],
// and `Form` says which coefficients d and c there are. The code is for one form: its numbers are
// constants, and what a thread holds lies in registers.
//
// The first phase and the last one are the same: rows, each a state, are taken through the steps of
// a chunk, sixteen of them by one product of tensor cores. In the first phase they are the unit
// vectors, and zeros to which b is added; in the last one the states that chunks begin with. Tensor
// cores multiply numbers of 11 bits: every number is the sum of two such, and of their four
// products the three that matter in f32 are computed.
//
// Functions of tensor_core.cuh are those of a test where this is compiled for the host.
#pragma once

#include "antichain/backends/cuda/device/weighted_layout.cuh"

namespace antichain::device {

// Numbers that a form lists are packed, four bits each: arrays of constants would lie in memory.
constexpr int listed(unsigned long long numbers, int n) { return int(numbers >> (4 * n)) & 15; }

struct alignas(16) Four {
  float at[4];
};
struct alignas(8) Two {
  float at[2];
};

template <class Form>
struct ScanArguments {
  long long steps, places, reverse, chunk, chunks;
  const float *weights, *b, *initial;  // [weights, units, units], [steps, places, N], [places, N]
  float *before, *last;                // [steps, places, N], [places, N]
  float* products;                     // [chunks - 1, places, numbers as the layout says]
  float* carried;                      // [chunks, places, N]: the states before each chunk
  long long group, groups;             // chunks that belong together, where there are many
  float *joined, *entered;             // as products and carried, of groups
  const float* coefficients[Form::diagonals + Form::products];  // each [steps, places, units]
};

template <class Form>
struct ScanSizes {
  static constexpr ScanLayout kLayout{Form::units, Form::states, Form::weights,
                                      Form::diagonals + Form::products, Form::adds};
  static constexpr int kUnits = Form::units, kState = kLayout.state(), kEights = kLayout.eights();
};

constexpr int kStepsPerRescale = 16;

// The nearest number of 11 bits.
inline float leading_part(float number) {
  return __uint_as_float((__float_as_uint(number) + 0x1000u) & 0xffffe000u);
}

// 2 to the power of `exponent` in two factors: it may be beyond the range of one.
struct PowerOfTwo {
  float first, second;
  explicit PowerOfTwo(int exponent) {
    const int near = exponent < -250 ? -250 : exponent > 250 ? 250 : exponent;
    first = __uint_as_float(unsigned(near / 2 + 127) << 23);
    second = __uint_as_float(unsigned(near - near / 2 + 127) << 23);
  }
  float times(float number) const { return number * first * second; }
};

// 2 to the power of an exponent that is not above 0; nothing instead of less than 2^-126.
inline float power_up_to_one(int exponent) {
  return __uint_as_float(unsigned(exponent < -127 ? 0 : exponent + 127) << 23);
}

inline int larger(int a, int b) { return a > b ? a : b; }

// Lays weights out as lanes take them: for each weight, 8 columns and 8 rows the numbers of every
// lane, their leading parts and what is left of them.
template <class Form>
void split_weights(const float* weights, Four* to) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int H = kLayout.units, kEights = kLayout.eights();
  for (int i = threadIdx.x; i < kLayout.weight_floats() / 4; i += blockDim.x) {
    const int lane = i % 32, tile = i / 32 % kEights, eight = i / 32 / kEights % kEights;
    // Sums have their units where the next step multiplies them.
    const int row = kLayout.first_unit(tile, lane / 8) + (kLayout.is_half(tile) ? 0 : lane / 4 % 2);
    const bool is_row = row < H && !(kLayout.is_half(tile) && lane / 4 % 2 == 1);
    const int column = kLayout.first_unit(eight, lane % 4);
    const float* const own = weights + i / 32 / (kEights * kEights) * H * H + row * H;
    Four four = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (is_row && column + j < H && !(kLayout.is_half(eight) && j == 1)) {
        const float number = own[column + j];
        four.at[j] = leading_part(number);
        four.at[j + 2] = number - four.at[j];
      }
    }
    to[i] = four;
  }
}

// What a warp reads ahead: for each of its walks, the values of some steps. Lanes copy pieces of
// rows; where a few each suffice, they remember where theirs come from.
template <class Form, int kWalks>
class StepRing {
  static constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  static constexpr int H = kLayout.units, N = kLayout.state(), kStep = kLayout.step_floats();
  static constexpr int kPiece = H % 4 == 0 ? 4 : 1, kPieces = H / kPiece;  // of a part
  static constexpr int kCopies = (kWalks * kPieces + 31) / 32;             // of a lane, and a part
  static constexpr bool kRemembers = kCopies <= 4;

 public:
  static constexpr int kSlots = kLayout.slots(kWalks);

  // `memory` is the warp's, of kLayout.warp_floats(kWalks) floats; `first` is its first walk.
  StepRing(const ScanArguments<Form>& a, Four* memory, long long first, long long walks)
      : a_(a),
        starts_((long long*)memory),
        values_((float*)(memory + (kWalks + 1) / 2)),
        lane_(threadIdx.x % 32),
        stride_(a.reverse ? -a.places : a.places) {
    for (int i = lane_; i < kWalks; i += 32) {
      const long long walk = first + i < walks ? first + i : walks - 1;
      starts_[i] = start_of(walk);
    }
    __syncwarp();
    if constexpr (kRemembers) {
#pragma unroll
      for (int m = 0; m < kCopies; ++m) {
        const int i = lane_ + 32 * m, walk = i / kPieces;
        const bool is_copied = i < kWalks * kPieces;
        from_[m] = is_copied ? starts_[walk] : 0;
        left_[m] = is_copied ? steps_from(from_[m]) : 0;
      }
    }
    for (int n = 0; n < kSlots - 1; ++n) {
      fetch(n);
    }
  }

  // Where the first step of a walk is, by numbers of steps and places; how many steps follow there.
  long long start_of(long long walk) const {
    const long long step = walk / a_.places * a_.chunk;
    return (a_.reverse ? a_.steps - 1 - step : step) * a_.places + walk % a_.places;
  }
  int steps_from(long long start) const {
    const long long step = start / a_.places, left = a_.reverse ? step + 1 : a_.steps - step;
    return left < a_.chunk ? int(left) : int(a_.chunk);
  }
  long long stride() const { return stride_; }

  // The values of step n, once they are there for all lanes; those of a later one are fetched.
  const float* advance(int n) {
    wait_for_copies<kSlots - 2>();
    __syncwarp();  // copies of all lanes are there, and nobody reads the step before any more
    fetch(n + kSlots - 1);
    return values_ + n % kSlots * kWalks * kStep;
  }

 private:
  // Begins to read what belongs to a step of all walks; zeros behind the last one.
  void fetch(int n) {
    float* const to = values_ + n % kSlots * kWalks * kStep;
    if constexpr (kRemembers) {
#pragma unroll
      for (int m = 0; m < kCopies; ++m) {
        const int i = lane_ + 32 * m;
        if (i < kWalks * kPieces) {
          copy_values(to, i / kPieces, i % kPieces * kPiece, from_[m], n < left_[m]);
        }
        from_[m] += stride_;
      }
    } else {
      for (int i = lane_; i < kWalks * kPieces; i += 32) {
        const long long start = starts_[i / kPieces], at = start + n * stride_;
        copy_values(to, i / kPieces, i % kPieces * kPiece, at,
                    at >= 0 && at < a_.steps * a_.places);
      }
    }
    end_copies();
  }

  void copy_values(float* step, int walk, int unit, long long at, bool wanted) const {
    float* const to = step + walk * kStep + unit;
    const long long from = wanted ? at : 0;
#pragma unroll
    for (int x = 0; x < kLayout.values; ++x) {
      copy(to + x * H, a_.coefficients[x] + from * H + unit, wanted);
    }
    if constexpr (Form::adds != 0) {
#pragma unroll
      for (int part = 0; part < Form::states; ++part) {
        copy(to + (kLayout.values + part) * H, a_.b + from * N + part * H + unit, wanted);
      }
    }
  }
  static void copy(float* to, const float* from, bool wanted) {
    if constexpr (kPiece == 4) {
      copy_16_bytes(to, from, wanted);
    } else {
      copy_4_bytes(to, from, wanted);
    }
  }

  const ScanArguments<Form>& a_;
  long long* starts_;
  float* values_;
  int lane_;
  long long stride_;
  long long from_[kRemembers ? kCopies : 1];
  int left_[kRemembers ? kCopies : 1];
};

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
        before_[i] = a.before + start * N;
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
        add_weight(values, w, k, next);
      }
    }
    take_over(n, next);
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
  void add_weight(const float* values, int w, int first_k, Tiles& next) const {
    float leading[kDeep][kTiles][4], rest[kDeep][kTiles][4];
#pragma unroll
    for (int d = 0; d < kDeep && first_k + d < kEights; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        split_factors(values, w, first_k + d, i, &leading[d][i / 2][i % 2 * 2],
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
  void split_factors(const float* values, int w, int k, int i, float* leading, float* rest) const {
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

  // Takes the largest power of two out of a row, so that products over many steps stay in range.
  void rescale(int i) {
    float largest = 0;
    for_each_pair(i, state_, [&](int, int, float* pair) {
      largest = fmaxf(largest, fmaxf(fabsf(pair[0]), fabsf(pair[1])));
    });
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
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
      if (n < left_[i]) {
        for_each_pair(i, state_, [&](int part, int k, float* pair) {
          store_pair(before_[i] + part * H, k, pair);
        });
      }
      before_[i] += ring_.stride() * N;
    }
  }

  // A row is a column of the product.
  void store_products() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (is_there(i)) {
        float* const product = a_.products + walk(i) * kLayout.product_floats() + column(i);
        if (lane_ % 4 == 0) {
          *(int*)(product + N * kLayout.width()) = exponents_[i];
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
  unsigned adds_ = 0;                       // a bit per row: b is added
  float* before_[kMultiplies ? 1 : kRows];  // where the state is stored
  int left_[kMultiplies ? 1 : kRows];       // steps
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

// Phase 1: the product of every chunk but the last, by blocks of kMultiplyWarps.
template <class Form>
void multiply_chunks(const ScanArguments<Form>& a, Four* shared) {
  walk_rows<Form, true>(a, shared);
}

// Phase 3: a row per chunk and place, by blocks of inside_warps(). With one chunk this is the whole
// walk, step by step.
template <class Form>
void walk_inside(const ScanArguments<Form>& a, Four* shared) {
  walk_rows<Form, false>(a, shared);
}

// Products that a block reads one after the other, each as one copy that the first thread begins.
template <class Form>
class ProductRing {
  static constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  static constexpr int kProduct = kLayout.product_floats() / 4, kSlots = kLayout.across_slots();

 public:
  // `from` is the first of `count`, which are `stride` products apart; `memory` is of
  // kLayout.ring_floats(). The block has to meet before it waits for one.
  ProductRing(const float* from, long long stride, int count, Four* memory)
      : from_(from), stride_(stride * kLayout.product_floats()), count_(count), memory_(memory) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < kSlots; ++i) {
        prepare_barrier(barriers() + i);
      }
      publish_barriers();
      for (int n = 0; n < kSlots; ++n) {
        fetch(n);
      }
    }
  }

  // Rows of kLayout.width() numbers, and behind them the exponents.
  const Four* wait_for(int n) const {
    wait_for_block(barriers() + n % kSlots, n / kSlots % 2);
    return memory_ + n % kSlots * kProduct;
  }
  // Called when all threads have read product n.
  void reuse(int n) const {
    if (threadIdx.x == 0) {
      fetch(n + kSlots);
    }
  }

 private:
  CopyBarrier* barriers() const { return (CopyBarrier*)(memory_ + kSlots * kProduct); }
  void fetch(int n) const {
    if (n < count_) {
      copy_block(barriers() + n % kSlots, memory_ + n % kSlots * kProduct, from_ + n * stride_,
                 kLayout.product_floats() * int(sizeof(float)));
    }
  }

  const float* from_;
  long long stride_;
  int count_;
  Four* memory_;
};

template <class Form>
void wait_for_rows() {
  if constexpr (ScanSizes<Form>::kLayout.across_threads() == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

// A thread per number of the state, which goes through `count` products, `stride` apart; the states
// before each of them and behind the last are stored. `shared` holds the products ahead, and the
// state, twice, as all threads read it. One warp has few instructions to spend on a product: a row
// is read while the sums of the one before are finished.
template <class Form>
void walk_products(const float* products, long long stride, int count, const float* initial,
                   float* carried, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int N = kLayout.state(), kWide = kLayout.width() / 4;
  constexpr int kVector = up_to(N, 4) / 4, kThreads = kLayout.across_threads();
  Four* const vectors = shared + kLayout.ring_floats() / 4;
  const int thread = threadIdx.x, row = thread < N ? thread : N - 1;
  const ProductRing<Form> ring(products, stride, count, shared);
  for (int i = thread; i < 8 * kVector; i += kThreads) {
    (&vectors[0].at[0])[i] = 0;
  }
  wait_for_rows<Form>();
  Four numbers[kWide];
  PowerOfTwo power(0);
  const auto read_row = [&](int n) {
    const Four* const product = ring.wait_for(n);
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      numbers[i] = product[row * kWide + i];
    }
    power = PowerOfTwo(((const int*)(product + N * kWide))[row]);
  };
  float state = initial[row];
  carried += row;
  if (count > 0) {
    read_row(0);
  }
  for (int n = 0; n < count; ++n) {
    Four* const vector = vectors + n % 2 * kVector;
    if (thread < N) {
      (&vector[0].at[0])[row] = power.times(state);
      *carried = state;
    }
    carried += stride * N;
    wait_for_rows<Form>();
    ring.reuse(n);
    float sums[4] = {};
    if constexpr (Form::adds != 0) {
      sums[0] = numbers[N / 4].at[N % 4];
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const Four four = vector[i];
#pragma unroll
      for (int m = 0; m < 4 && 4 * i + m < N; ++m) {
        sums[m] += numbers[i].at[m] * four.at[m];
      }
    }
    if (n + 1 < count) {
      read_row(n + 1);
    }
    state = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  if (thread < N) {
    *carried = state;
  }
}

// Phase 2, where there are many chunks: the product of every group of them but the last, a block
// per group and place, four threads per column.
template <class Form>
void join_chunks(const ScanArguments<Form>& a, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int N = kLayout.state(), kColumns = kLayout.columns(), kWide = kLayout.width() / 4;
  constexpr int kColumn = up_to(N, 4) / 4, kOwn = (N + 3) / 4;  // rows of a thread
  const long long product = blockIdx.x, group = product / a.places, place = product % a.places;
  const int column = threadIdx.x / 4, first = threadIdx.x % 4 * kOwn;
  const ProductRing<Form> ring(
      a.products + (group * a.group * a.places + place) * kLayout.product_floats(), a.places,
      int(a.group), shared);
  Four* const columns = shared + kLayout.ring_floats() / 4;  // twice
  const bool is_there = column < kColumns, adds = column == N;
  for (int i = threadIdx.x; i < 2 * kColumns * kColumn; i += blockDim.x) {
    columns[i] = {};
  }
  __syncthreads();
  int exponent = 0;
  for (int n = 0; n < int(a.group); ++n) {
    const Four* const matrix = ring.wait_for(n);
    const int* const exponents = (const int*)(matrix + N * kWide);
    float* const to = &columns[(n % 2 * kColumns + (is_there ? column : 0)) * kColumn].at[0];
    if (n == 0) {
      exponent = is_there ? exponents[column] : 0;
      for (int r = first; is_there && r < first + kOwn && r < N; ++r) {
        to[r] = matrix[r * kWide + column / 4].at[column % 4];
      }
    } else if (is_there) {
      // Four at a time: a chain of comparisons would be long.
      int shifts[4];
      float u[4 * kColumn], sizes[4] = {};
#pragma unroll
      for (int c = 0; c < N; ++c) {
        shifts[c % 4] = c < 4 ? exponents[c] : larger(shifts[c % 4], exponents[c]);
      }
      int shift = shifts[0];
#pragma unroll
      for (int c = 1; c < 4 && c < N; ++c) {
        shift = larger(shift, shifts[c]);
      }
      const Four* const from = columns + ((n + 1) % 2 * kColumns + column) * kColumn;
#pragma unroll
      for (int c = 0; c < N; ++c) {
        u[c] = from[c / 4].at[c % 4];
        sizes[c % 4] = fmaxf(sizes[c % 4], fabsf(u[c]));
        u[c] *= power_up_to_one(exponents[c] - shift);
      }
      const float largest = fmaxf(fmaxf(sizes[0], sizes[1]), fmaxf(sizes[2], sizes[3]));
      // Numbers of a column stay near 1; what is added has no exponent of its own.
      const bool scales = !adds && largest > 0 && !isinf(largest);
      const int own = scales ? ilogbf(largest) : 0;
      const PowerOfTwo power(adds ? shift : -own);
      exponent += adds ? 0 : shift + own;
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int r = first + i < N ? first + i : N - 1;
        float sums[4] = {};
#pragma unroll
        for (int c = 0; c < N; ++c) {
          sums[c % 4] += matrix[r * kWide + c / 4].at[c % 4] * u[c];
        }
        const float sum = power.times((sums[0] + sums[1]) + (sums[2] + sums[3]));
        to[r] = adds ? sum + matrix[r * kWide + N / 4].at[N % 4] : sum;
      }
    }
    __syncthreads();
    ring.reuse(n);
  }
  if (is_there) {
    const Four* const last = columns + ((int(a.group) + 1) % 2 * kColumns + column) * kColumn;
    float* const to = a.joined + product * kLayout.product_floats() + column;
    for (int r = first; r < first + kOwn && r < N; ++r) {
      to[r * kLayout.width()] = last[r / 4].at[r % 4];
    }
    if (first == 0) {
      *(int*)(to + N * kLayout.width()) = exponent;
    }
  }
}

// The walk across groups, a block per place.
template <class Form>
void walk_groups(const ScanArguments<Form>& a, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  const long long place = blockIdx.x;
  walk_products<Form>(a.joined + place * kLayout.product_floats(), a.places, int(a.groups) - 1,
                      a.initial + place * kLayout.state(), a.entered + place * kLayout.state(),
                      shared);
}

// The walk across the chunks of every group, a block per group and place.
template <class Form>
void walk_across(const ScanArguments<Form>& a, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int N = kLayout.state();
  const long long group = blockIdx.x / a.places, place = blockIdx.x % a.places;
  const long long first = group * a.group, left = a.chunks - first;
  walk_products<Form>(a.products + (first * a.places + place) * kLayout.product_floats(), a.places,
                      int(left < a.group ? left : a.group) - 1,
                      a.groups > 1 ? a.entered + blockIdx.x * N : a.initial + place * N,
                      a.carried + (first * a.places + place) * N, shared);
}

}  // namespace antichain::device
