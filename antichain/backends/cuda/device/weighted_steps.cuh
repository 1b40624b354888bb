// What the kernels of a weighted scan (weighted_scan.cuh) are given, and what warps read ahead of
// the steps that they take: weights as tensor cores want them, and the values of steps.
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
  float* factors[Form::weights];       // [steps, places, units]: what they multiply; or none
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

// What tensor cores lose of a sum on average by rounding towards 0, relative to it: half a unit in
// the last place, of numbers that begin with 1.0 more often than with 1.9. Weights are larger by
// that, or states that should keep their size would shrink with every step.
constexpr float kTruncated = 4.3e-8f;

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
        four.at[j + 2] = leading_part(number - four.at[j] + kTruncated * number);
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

}  // namespace antichain::device
