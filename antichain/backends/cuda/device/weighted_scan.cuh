// The three phases of a weighted scan (docs/design/scan.md): products of chunks of steps, the walk
// across chunks, and the walks inside of all chunks at the same time.
//
// A state has `states` parts of `units` numbers, N in all. A step is
//   g[to] := b[to] + sum of diagonals d ∘ g[from] + sum of weights M u,   u = sum of c ∘ g[from],
// and `Form` says which coefficients d and c there are. The code is for one form: its numbers are
// constants, and what a thread holds lies in registers. Copies to shared memory are those of
// tensor_core.cuh, which is included before, or of a test.
#pragma once

namespace antichain::device {

// Numbers that a form lists are packed, four bits each: arrays of constants would lie in memory.
constexpr int listed(unsigned long long numbers, int n) { return int(numbers >> (4 * n)) & 15; }
constexpr int fours(int count) { return (count + 3) / 4; }

struct alignas(16) Four {
  float at[4];
};

template <class Form>
struct ScanArguments {
  long long steps, places, reverse, chunk, chunks;
  const float *weights, *b, *initial;  // [weights, units, units], [steps, places, N], [places, N]
  float *before, *last;                // [steps, places, N], [places, N]
  float* products;  // [chunks, places, N + 1 columns, N rows up to a multiple of 4]
  int* exponents;   // [chunks, places, N + 1]: of powers of two
  float* carried;   // [chunks, places, N]: the states before each chunk
  const float* coefficients[Form::diagonals + Form::products];  // each [steps, places, units]
};

template <class Form>
struct ScanSizes {
  static constexpr int kUnits = Form::units, kState = Form::states * Form::units;
  static constexpr int kColumns = kState + 1;  // the last one is what is added
  static constexpr int kRows = 4 * fours(kState), kInner = 4 * fours(kUnits);
  static constexpr int kCoefficients = Form::diagonals + Form::products;
  // A thread computes two columns where registers suffice: every weight is then read for both.
  static constexpr int kTogether = kState <= 32 ? 2 : 1;
  static constexpr int kGroup = (kColumns + kTogether - 1) / kTogether;  // threads per product
  static constexpr int kBuffered =
      kState <= 32 ? 8 : 4;  // chunks whose products are fetched at once
  static constexpr int kProduct = kColumns * kRows + 4 * fours(kColumns);  // numbers in a buffer
};

template <class Form>
long long step_at(const ScanArguments<Form>& a, long long n) {
  return a.reverse ? a.steps - 1 - n : n;
}

// Keeps the compiler from reading memory before this point: what stays the same over all steps
// would be read once and take more registers than there are.
inline void read_from_here() { asm volatile("" ::: "memory"); }

constexpr int kStepsPerRescale = 16, kRowsAtOnce = 4;

// Takes the largest power of two out of a column, so that products over many steps stay in range.
template <int count>
int rescale(float (&column)[count]) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    largest = fmaxf(largest, fabsf(column[i]));
  }
  if (!(largest > 0) || isinf(largest)) {
    return 0;
  }
  const int exponent = ilogbf(largest);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    column[i] = scalbnf(column[i], -exponent);
  }
  return exponent;
}

// Phase 1: the product of every chunk, a thread per column or two. `shared` holds the weights.
template <class Form>
void multiply_chunks(const ScanArguments<Form>& a, Four* shared) {
  using Sizes = ScanSizes<Form>;
  constexpr int N = Sizes::kState, H = Sizes::kUnits, kWide = Sizes::kInner / 4;
  for (int i = threadIdx.x; i < Form::weights * H * kWide; i += blockDim.x) {
    const int row = i / kWide, first = i % kWide * 4;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      shared[i].at[j] = first + j < H ? a.weights[row * H + first + j] : 0;
    }
  }
  __syncthreads();
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long product = thread / Sizes::kGroup;
  if (product >= a.chunks * a.places) {
    return;
  }
  const int first_column = int(thread % Sizes::kGroup) * Sizes::kTogether;
  const long long chunk = product / a.places, place = product % a.places;
  const long long begin = chunk * a.chunk;
  const int count = int(begin + a.chunk < a.steps ? a.chunk : a.steps - begin);
  float column[Sizes::kTogether][N];
  int exponents[Sizes::kTogether] = {};
#pragma unroll
  for (int c = 0; c < Sizes::kTogether; ++c) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      column[c][i] = first_column + c == i ? 1 : 0;
    }
  }
  for (int n = 0; n < count; ++n) {
    const long long at = step_at(a, begin + n) * a.places + place;
    float next[Sizes::kTogether][N] = {};
#pragma unroll
    for (int c = 0; c < Sizes::kTogether; ++c) {
      if (first_column + c == N) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
          next[c][i] = a.b[at * N + i];
        }
      }
    }
#pragma unroll
    for (int d = 0; d < Form::diagonals; ++d) {
      const float* const diagonal = a.coefficients[d] + at * H;
#pragma unroll
      for (int i = 0; i < H; ++i) {
        const float factor = diagonal[i];
#pragma unroll
        for (int c = 0; c < Sizes::kTogether; ++c) {
          next[c][listed(Form::diagonal_to, d) * H + i] +=
              factor * column[c][listed(Form::diagonal_from, d) * H + i];
        }
      }
    }
#pragma unroll
    for (int k = 0; k < Form::weights; ++k) {
      float u[Sizes::kTogether][Sizes::kInner] = {};
#pragma unroll
      for (int x = 0; x < Form::products; ++x) {
        if (listed(Form::product_weight, x) == k) {
          const float* const factors = a.coefficients[Form::diagonals + x] + at * H;
#pragma unroll
          for (int j = 0; j < H; ++j) {
            const float factor = factors[j];
#pragma unroll
            for (int c = 0; c < Sizes::kTogether; ++c) {
              u[c][j] += factor * column[c][listed(Form::product_from, x) * H + j];
            }
          }
        }
      }
      // Some rows at once: their sums do not wait for each other.
#pragma unroll
      for (int first = 0; first < H; first += kRowsAtOnce) {
        read_from_here();
#pragma unroll
        for (int j = 0; j < kWide; ++j) {
#pragma unroll
          for (int i = first; i < first + kRowsAtOnce && i < H; ++i) {
            const Four row = shared[(k * H + i) * kWide + j];
#pragma unroll
            for (int c = 0; c < Sizes::kTogether; ++c) {
#pragma unroll
              for (int m = 0; m < 4; ++m) {
                next[c][listed(Form::weight_to, k) * H + i] += row.at[m] * u[c][4 * j + m];
              }
            }
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < Sizes::kTogether; ++c) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        column[c][i] = next[c][i];
      }
      if (n % kStepsPerRescale == kStepsPerRescale - 1 && first_column + c < N) {
        exponents[c] += rescale(column[c]);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < Sizes::kTogether; ++c) {
    if (first_column + c < Sizes::kColumns) {
      const long long to = product * Sizes::kColumns + first_column + c;
      a.exponents[to] = exponents[c];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        a.products[to * Sizes::kRows + i] = column[c][i];
      }
    }
  }
}

// Phase 2: a block per place. The first warp walks from chunk to chunk; the others fetch the
// products of the chunks behind. `shared` holds two buffers of them and the scaled state.
template <class Form>
void walk_across(const ScanArguments<Form>& a, Four* shared) {
  using Sizes = ScanSizes<Form>;
  constexpr int N = Sizes::kState, kRows = Sizes::kRows;
  constexpr int kPieces = Sizes::kColumns * kRows / 4;  // of a product, in Fours
  constexpr int kChunks = Sizes::kBuffered, kBuffer = kChunks * Sizes::kProduct / 4;
  const long long place = blockIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  float* const scaled = &shared[2 * kBuffer].at[0];
  const auto fetch = [&](long long first, Four* buffer, int thread, int threads) {
    for (int chunk = 0; chunk < kChunks && first + chunk < a.chunks - 1; ++chunk) {
      const long long product = (first + chunk) * a.places + place;
      const Four* const from = (const Four*)(a.products + product * Sizes::kColumns * kRows);
      Four* const to = buffer + chunk * (Sizes::kProduct / 4);
      for (int i = thread; i < kPieces; i += threads) {
        copy_16_bytes(to + i, from + i, true);
      }
      for (int i = thread; i < Sizes::kColumns; i += threads) {
        copy_4_bytes((int*)(to + kPieces) + i, a.exponents + product * Sizes::kColumns + i, true);
      }
    }
  };
  constexpr int kOwn = (N + 31) / 32;  // rows of a lane
  float state[kOwn];
#pragma unroll
  for (int r = 0; r < kOwn; ++r) {
    const int row = lane + 32 * r;
    state[r] = row < N ? a.initial[place * N + row] : 0;
  }
  fetch(0, shared, threadIdx.x, blockDim.x);
  wait_for_own_copies();
  __syncthreads();
  for (long long first = 0; first < a.chunks; first += kChunks) {
    Four* const own = shared + (first / kChunks % 2) * kBuffer;
    if (warp > 0) {
      fetch(first + kChunks, shared + ((first / kChunks + 1) % 2) * kBuffer, threadIdx.x - 32,
            32 * (warps - 1));
      wait_for_own_copies();
    } else {
      for (int chunk = 0; chunk < kChunks && first + chunk < a.chunks; ++chunk) {
        const float* const product = &own[chunk * (Sizes::kProduct / 4)].at[0];
        const int* const exponents = (const int*)(product + Sizes::kColumns * kRows);
        const bool is_last = first + chunk == a.chunks - 1;
#pragma unroll
        for (int r = 0; r < kOwn; ++r) {
          const int row = lane + 32 * r;
          if (row < N) {
            a.carried[((first + chunk) * a.places + place) * N + row] = state[r];
            scaled[row] = is_last ? 0 : scalbnf(state[r], exponents[row]);
          }
        }
        __syncwarp();
        if (!is_last) {
#pragma unroll
          for (int r = 0; r < kOwn; ++r) {
            const int row = lane + 32 * r < N ? lane + 32 * r : N - 1;
            float even = scalbnf(product[N * kRows + row], exponents[N]), odd = 0;
#pragma unroll
            for (int i = 0; i + 1 < N; i += 2) {
              even += product[i * kRows + row] * scaled[i];
              odd += product[(i + 1) * kRows + row] * scaled[i + 1];
            }
            if (N % 2 == 1) {
              even += product[(N - 1) * kRows + row] * scaled[N - 1];
            }
            state[r] = even + odd;
          }
        }
        __syncwarp();
      }
    }
    __syncthreads();
  }
}

// Phase 3: a warp per chunk and place, a lane per unit. `shared` holds two vectors u per weight and
// warp. With one chunk this is the whole walk, step by step.
template <class Form>
void walk_inside(const ScanArguments<Form>& a, Four* shared) {
  using Sizes = ScanSizes<Form>;
  constexpr int N = Sizes::kState, H = Sizes::kUnits, kWide = Sizes::kInner / 4;
  constexpr int kCoefficients = Sizes::kCoefficients, kStates = Form::states;
  constexpr int kValues = kCoefficients + kStates;                 // that a lane reads per step
  constexpr int kAhead = kValues <= 2 ? 8 : kValues <= 6 ? 4 : 2;  // steps
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long walk = (long long)blockIdx.x * (blockDim.x / 32) + warp;
  if (walk >= a.chunks * a.places) {
    return;
  }
  const long long chunk = walk / a.places, place = walk % a.places, begin = chunk * a.chunk;
  const long long count = begin + a.chunk < a.steps ? a.chunk : a.steps - begin;
  const bool owns = lane < H;
  const int unit = owns ? lane : H - 1;  // lanes without one repeat the last, and write nothing
  Four* const own = shared + warp * 2 * Form::weights * kWide;
  for (int i = lane; i < 2 * Form::weights * kWide; i += 32) {
    own[i] = {};
  }
  __syncwarp();
  float weights[Form::weights][Sizes::kInner];
#pragma unroll
  for (int k = 0; k < Form::weights; ++k) {
#pragma unroll
    for (int j = 0; j < Sizes::kInner; ++j) {
      weights[k][j] = j < H ? a.weights[(k * H + unit) * H + j] : 0;
    }
  }
  const float* const start = a.chunks > 1 ? a.carried + walk * N : a.initial + place * N;
  float state[kStates], ahead[kAhead][kValues];
#pragma unroll
  for (int s = 0; s < kStates; ++s) {
    state[s] = start[s * H + unit];
  }
  const auto fetch = [&](long long n, float(&values)[kValues]) {
    if (n < count) {
      const long long at = step_at(a, begin + n) * a.places + place;
#pragma unroll
      for (int x = 0; x < kCoefficients; ++x) {
        values[x] = a.coefficients[x][at * H + unit];
      }
#pragma unroll
      for (int s = 0; s < kStates; ++s) {
        values[kCoefficients + s] = a.b[at * N + s * H + unit];
      }
    }
  };
#pragma unroll
  for (int r = 0; r < kAhead; ++r) {
    fetch(r, ahead[r]);
  }
  for (long long first = 0; first < count; first += kAhead) {
#pragma unroll
    for (int r = 0; r < kAhead; ++r) {
      const long long n = first + r;
      if (n < count) {
        const long long at = step_at(a, begin + n) * a.places + place;
        Four* const u = own + (n % 2) * Form::weights * kWide;
        float next[kStates];
#pragma unroll
        for (int s = 0; s < kStates; ++s) {
          next[s] = ahead[r][kCoefficients + s];
          if (owns) {
            a.before[at * N + s * H + unit] = state[s];
          }
        }
#pragma unroll
        for (int d = 0; d < Form::diagonals; ++d) {
          next[listed(Form::diagonal_to, d)] += ahead[r][d] * state[listed(Form::diagonal_from, d)];
        }
#pragma unroll
        for (int k = 0; k < Form::weights; ++k) {
          float sum = 0;
#pragma unroll
          for (int x = 0; x < Form::products; ++x) {
            if (listed(Form::product_weight, x) == k) {
              sum += ahead[r][Form::diagonals + x] * state[listed(Form::product_from, x)];
            }
          }
          if (owns) {
            (&u[k * kWide].at[0])[unit] = sum;
          }
        }
        fetch(n + kAhead, ahead[r]);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < Form::weights; ++k) {
          float sums[4] = {};
#pragma unroll
          for (int j = 0; j < kWide; ++j) {
            const Four four = u[k * kWide + j];
#pragma unroll
            for (int m = 0; m < 4; ++m) {
              sums[m] += weights[k][4 * j + m] * four.at[m];
            }
          }
          next[listed(Form::weight_to, k)] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
#pragma unroll
        for (int s = 0; s < kStates; ++s) {
          state[s] = next[s];
        }
      }
    }
  }
  if (owns && chunk == a.chunks - 1) {
#pragma unroll
    for (int s = 0; s < kStates; ++s) {
      a.last[place * N + s * H + unit] = state[s];
    }
  }
}

}  // namespace antichain::device
