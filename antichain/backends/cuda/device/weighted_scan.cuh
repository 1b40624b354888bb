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
  float* products;                     // [chunks - 1, places, columns, rows], of the layout
  int* exponents;                      // [chunks - 1, places, columns]: of powers of two
  float* carried;                      // [chunks, places, N]: the states before each chunk
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

// Lays weights out as lanes take them: for each weight, 8 columns and 8 rows the numbers of every
// lane, their leading parts and what is left of them.
template <class Form>
void split_weights(const float* weights, Four* to) {
  using Sizes = ScanSizes<Form>;
  constexpr int H = Sizes::kUnits, kEights = Sizes::kEights;
  for (int i = threadIdx.x; i < Sizes::kLayout.weight_floats() / 4; i += blockDim.x) {
    const int lane = i % 32, row = i / 32 % kEights * 8 + lane / 4;
    const int column = i / 32 / kEights % kEights * 8 + lane % 4 * 2;
    const float* const own = weights + i / 32 / (kEights * kEights) * H * H + row * H;
    Four four = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (row < H && column + j < H) {
        const float number = own[column + j];
        four.at[j] = leading_part(number);
        four.at[j + 2] = number - four.at[j];
      }
    }
    to[i] = four;
  }
}

// Rows of a warp on their way through the steps of their chunks.
template <class Form, bool kMultiplies>
class RowWalk {
  using Sizes = ScanSizes<Form>;
  static constexpr ScanLayout kLayout = Sizes::kLayout;
  static constexpr int N = Sizes::kState, H = Sizes::kUnits, kEights = Sizes::kEights;
  static constexpr int kStates = Form::states, kCoefficients = Form::diagonals + Form::products;
  static constexpr int kTiles = kMultiplies ? kLayout.tiles() : 1, kRows = 2 * kTiles;
  static constexpr int kColumns = kMultiplies ? kLayout.columns() : 1;
  static constexpr int kWalks = kLayout.walks(kTiles, kColumns), kStep = kLayout.step_floats();
  static constexpr int kSlots = kLayout.slots(kWalks);
  // Products of tensor cores side by side, for each tile: they do not wait for each other.
  static constexpr int kTogether = kTiles == 1 ? 4 : kTiles == 2 ? 2 : 1;

  using Tiles = float[kTiles][kStates][kEights][4];

 public:
  // `memory` is the warp's, of kLayout.warp_floats(kWalks) floats.
  RowWalk(const ScanArguments<Form>& a, const Four* weights, Four* memory)
      : a_(a),
        weights_(weights),
        starts_((long long*)memory),
        ring_((float*)(memory + (kWalks + 1) / 2)),
        lane_(threadIdx.x % 32),
        step_stride_(a.reverse ? -a.places : a.places) {}

  void run() {
    const long long walks = (kMultiplies ? a_.chunks - 1 : a_.chunks) * a_.places;
    const long long warp = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    first_row_ = warp * kTiles * kTileRows + lane_ / 4;
    rows_ = walks * kColumns;
    if (warp * kTiles * kTileRows >= rows_) {
      return;
    }
    const long long first_walk = warp * kTiles * kTileRows / kColumns;
    find_starts(first_walk, walks);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      local_[i] = is_there(i) ? int(walk(i) - first_walk) * kStep : 0;
      adds_ |= (!kMultiplies || column(i) == N ? 1u : 0u) << i;
    }
    start_rows();
    for (int n = 0; n < kSlots - 1; ++n) {
      fetch(n);
    }
    for (int n = 0; n < a_.chunk; ++n) {
      wait_for_copies<kSlots - 2>();
      __syncwarp();  // copies of all lanes are there, and nobody reads the step before any more
      fetch(n + kSlots - 1);
      take_step(n);
    }
    if constexpr (kMultiplies) {
      store_products();
    }
  }

 private:
  // The rows of a lane are eight apart. What is seldom asked of them is found again each time:
  // registers are scarce.
  long long row(int i) const { return first_row_ + 8 * i; }
  bool is_there(int i) const { return row(i) < rows_; }
  long long walk(int i) const { return row(i) / kColumns; }
  int column(int i) const { return int(row(i) % kColumns); }

  // Where the first steps of the warp's walks are, by numbers of steps and places.
  void find_starts(long long first, long long walks) {
    for (int i = lane_; i < kWalks; i += 32) {
      const long long walk = first + i < walks ? first + i : walks - 1;
      const long long step = walk / a_.places * a_.chunk;
      starts_[i] = (a_.reverse ? a_.steps - 1 - step : step) * a_.places + walk % a_.places;
    }
    __syncwarp();
  }

  void start_rows() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float* const start = (a_.chunks > 1 ? a_.carried : a_.initial) + walk(i) * N;
      for_each_pair(i, state_, [&](int at, int unit, float* pair) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          if constexpr (kMultiplies) {
            pair[j] = unit + j < H && at + j == column(i) ? 1 : 0;
          } else {
            pair[j] = unit + j < H && is_there(i) ? start[at + j] : 0;
          }
        }
      });
    }
  }

  // Calls f with the pairs of numbers of a row that the lane holds: the place of the first in the
  // state, its unit, which may be behind the last, and the pair.
  template <class F>
  void for_each_pair(int i, Tiles& tiles, F f) const {
#pragma unroll
    for (int part = 0; part < kStates; ++part) {
#pragma unroll
      for (int k = 0; k < kEights; ++k) {
        const int unit = 8 * k + lane_ % 4 * 2;
        f(part * H + unit, unit, &tiles[i / 2][part][k][i % 2 * 2]);
      }
    }
  }

  static void store_pair(float* to, int unit, const float* pair) {
    if constexpr (H % 2 == 0) {
      if (unit < H) {
        *(Two*)to = {pair[0], pair[1]};
      }
    } else {
      if (unit < H) {
        to[0] = pair[0];
      }
      if (unit + 1 < H) {
        to[1] = pair[1];
      }
    }
  }

  // Two numbers that begin at `unit` of `from`. Behind the last they are others: what lanes
  // multiply them by is 0 there.
  static Two load_pair(const float* from, int unit) {
    if constexpr (H % 2 == 0) {
      return *(const Two*)(from + (unit < H ? unit : 0));
    } else {
      return {from[unit < H ? unit : 0], from[unit + 1 < H ? unit + 1 : 0]};
    }
  }

  // Begins to read what belongs to a step of all walks; zeros behind the last one.
  void fetch(int n) {
    constexpr int kPiece = H % 4 == 0 ? 4 : 1;
    float* const to = ring_ + n % kSlots * kWalks * kStep;
    const auto copy = [&](const float* from, int first, int count) {
      for (int i = lane_; i < kWalks * (count / kPiece); i += 32) {
        const int walk = i / (count / kPiece), piece = i % (count / kPiece) * kPiece;
        const long long at = starts_[walk] + n * step_stride_;
        const bool wanted = at >= 0 && at < a_.steps * a_.places;
        const float* const source = wanted ? from + at * count + piece : from;
        if constexpr (kPiece == 4) {
          copy_16_bytes(to + walk * kStep + first + piece, source, wanted);
        } else {
          copy_4_bytes(to + walk * kStep + first + piece, source, wanted);
        }
      }
    };
#pragma unroll
    for (int x = 0; x < kCoefficients; ++x) {
      copy(a_.coefficients[x], x * H, H);
    }
    if constexpr (Form::adds != 0) {
      copy(a_.b, kCoefficients * H, N);
    }
    end_copies();
  }

  // The numbers of a step that belong to a row.
  const float* values_of(int n, int i) const {
    return ring_ + n % kSlots * kWalks * kStep + local_[i];
  }

  void take_step(int n) {
    Tiles next = {};
    if constexpr (Form::adds != 0) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float* const b = values_of(n, i) + kCoefficients * H;
        const bool adds = adds_ >> i & 1;
        for_each_pair(i, next, [&](int at, int unit, float* pair) {
          const Two two = load_pair(b + (at - unit), unit);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            pair[j] = adds && unit + j < H ? two.at[j] : 0;
          }
        });
      }
    }
    if constexpr (!kMultiplies) {
      store_states(n);
    }
    add_diagonals(n, next);
#pragma unroll
    for (int w = 0; w < Form::weights; ++w) {
#pragma unroll
      for (int k = 0; k < kEights; ++k) {
        add_weight(n, w, k, next);
      }
    }
    take_over(n, next);
  }

  void add_diagonals(int n, Tiles& next) const {
#pragma unroll
    for (int d = 0; d < Form::diagonals; ++d) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int k = 0; k < kEights; ++k) {
          const Two factors = load_pair(values_of(n, i) + d * H, 8 * k + lane_ % 4 * 2);
          float* const to = &next[i / 2][listed(Form::diagonal_to, d)][k][i % 2 * 2];
          const float* const from = &state_[i / 2][listed(Form::diagonal_from, d)][k][i % 2 * 2];
          to[0] += factors.at[0] * from[0];
          to[1] += factors.at[1] * from[1];
        }
      }
    }
  }

  // Adds the products of a weight with the k-th eight numbers of its u.
  void add_weight(int n, int w, int k, Tiles& next) const {
    float leading[kTiles][4], rest[kTiles][4];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float u[2] = {};
#pragma unroll
      for (int x = 0; x < Form::products; ++x) {
        if (listed(Form::product_weight, x) == w) {
          const Two factors =
              load_pair(values_of(n, i) + (Form::diagonals + x) * H, 8 * k + lane_ % 4 * 2);
          const float* const from = &state_[i / 2][listed(Form::product_from, x)][k][i % 2 * 2];
          u[0] += factors.at[0] * from[0];
          u[1] += factors.at[1] * from[1];
        }
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float leads = leading_part(u[j]);
        leading[i / 2][i % 2 * 2 + j] = leads;
        rest[i / 2][i % 2 * 2 + j] = u[j] - leads;
      }
    }
    const Four* const own = weights_ + (w * kEights + k) * kEights * 32 + lane_;
    const int to = listed(Form::weight_to, w);
#pragma unroll
    for (int first = 0; first < kEights; first += kTogether) {
      // Small products first. Tensor cores round towards 0, so longer sums are not left to them.
      float sums[kTogether][kTiles][4] = {};
#pragma unroll
      for (int product = 0; product < 3; ++product) {
        const int right = product == 0 ? 2 : 0;  // what is left of the weight
#pragma unroll
        for (int m = 0; m < kTogether && first + m < kEights; ++m) {
          const Four four = own[(first + m) * 32];
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            add_short_product(sums[m][tile], product == 1 ? rest[tile] : leading[tile],
                              four.at[right], four.at[right + 1]);
          }
        }
      }
#pragma unroll
      for (int m = 0; m < kTogether && first + m < kEights; ++m) {
#pragma unroll
        for (int e = 0; e < 4 * kTiles; ++e) {
          next[e / 4][to][first + m][e % 4] += sums[m][e / 4][e % 4];
        }
      }
    }
  }

  void take_over(int n, Tiles& next) {
    if (!kMultiplies && n == a_.steps - 1 - (a_.chunks - 1) * a_.chunk) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        if (is_there(i) && walk(i) >= (a_.chunks - 1) * a_.places) {
          float* const last = a_.last + walk(i) % a_.places * N;
          for_each_pair(i, next,
                        [&](int at, int unit, float* pair) { store_pair(last + at, unit, pair); });
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
      const long long at = starts_[local_[i] / kStep] + n * step_stride_;
      if (is_there(i) && at >= 0 && at < a_.steps * a_.places) {
        for_each_pair(i, state_, [&](int place, int unit, float* pair) {
          store_pair(a_.before + at * N + place, unit, pair);
        });
      }
    }
  }

  void store_products() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (is_there(i)) {
        if (lane_ % 4 == 0) {
          a_.exponents[row(i)] = exponents_[i];
        }
        for_each_pair(i, state_, [&](int at, int unit, float* pair) {
          store_pair(a_.products + row(i) * kLayout.rows() + at, unit, pair);
        });
      }
    }
  }

  const ScanArguments<Form>& a_;
  const Four* weights_;
  long long* starts_;
  float* ring_;
  int lane_;
  long long step_stride_;
  long long first_row_ = 0, rows_ = 0;  // the lane's, and of all warps
  int local_[kRows];                    // where the values of its walk are in a step
  int exponents_[kRows] = {};
  unsigned adds_ = 0;  // a bit per row: b is added
  Tiles state_;
};

template <class Form, bool kMultiplies>
void walk_rows(const ScanArguments<Form>& a, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int kWalks =
      kMultiplies ? kLayout.walks(kLayout.tiles(), kLayout.columns()) : kLayout.walks(1, 1);
  split_weights<Form>(a.weights, shared);
  __syncthreads();
  Four* const own =
      shared + kLayout.weight_floats() / 4 + threadIdx.x / 32 * (kLayout.warp_floats(kWalks) / 4);
  RowWalk<Form, kMultiplies>(a, shared, own).run();
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

// Phase 2: a block per place, a thread per number of the state. `shared` holds the products of the
// chunks ahead, and the state as all threads read it.
template <class Form>
void walk_across(const ScanArguments<Form>& a, Four* shared) {
  constexpr ScanLayout kLayout = ScanSizes<Form>::kLayout;
  constexpr int N = kLayout.state(), kRows = kLayout.rows(), kColumns = kLayout.columns();
  constexpr int kProduct = kLayout.product_floats() / 4, kSlots = kLayout.across_slots();
  constexpr int kPieces = kColumns * kRows / 4;  // of a product, in Fours
  constexpr int kThreads = kLayout.across_threads();
  const long long place = blockIdx.x;
  const int chunks = int(a.chunks);
  const int row = threadIdx.x < N ? threadIdx.x : N - 1;
  const auto wait_for_rows = [] {
    if constexpr (kThreads == 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  };
  const auto fetch = [&](int chunk) {
    if (chunk < chunks - 1) {
      const long long product = chunk * a.places + place;
      const Four* const from = (const Four*)(a.products + product * kColumns * kRows);
      Four* const to = shared + chunk % kSlots * kProduct;
      for (int i = threadIdx.x; i < kPieces; i += kThreads) {
        copy_16_bytes(to + i, from + i, true);
      }
      for (int i = threadIdx.x; i < kColumns; i += kThreads) {
        copy_4_bytes((int*)(to + kPieces) + i, a.exponents + product * kColumns + i, true);
      }
    }
    end_copies();
  };
  float* const scaled = &shared[kSlots * kProduct].at[0];
  if (threadIdx.x < kRows - N) {
    scaled[N + threadIdx.x] = 0;
  }
  for (int chunk = 0; chunk < kSlots - 1; ++chunk) {
    fetch(chunk);
  }
  float state = a.initial[place * N + row];
  for (int chunk = 0; chunk < chunks; ++chunk) {
    wait_for_copies<kSlots - 2>();
    wait_for_rows();  // copies of all threads are there, and nobody reads the chunk before any more
    fetch(chunk + kSlots - 1);
    const Four* const own = shared + chunk % kSlots * kProduct;
    const float* const product = &own[0].at[0];
    const int* const exponents = (const int*)(own + kPieces);
    float column[N];
    float sums[4] = {};
    if (threadIdx.x < N) {
      a.carried[(chunk * a.places + place) * N + row] = state;
    }
    if (chunk == chunks - 1) {
      return;
    }
    const PowerOfTwo power(exponents[row]);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      column[i] = product[i * kRows + row];
    }
    if constexpr (Form::adds != 0) {
      sums[0] = product[N * kRows + row];
    }
    if (threadIdx.x < N) {
      scaled[row] = power.times(state);
    }
    wait_for_rows();
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const Four four = ((const Four*)scaled)[i / 4];
#pragma unroll
      for (int m = 0; m < 4 && i + m < N; ++m) {
        sums[m] += column[i + m] * four.at[m];
      }
    }
    state = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

}  // namespace antichain::device
