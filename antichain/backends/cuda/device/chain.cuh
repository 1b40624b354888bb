// What kernels of whole chains are written with. A block of threads keeps a few rows of every value
// in shared memory: the elements of a column beside each other, so that a thread reads those of all
// rows at once.
#pragma once

#include "antichain/backends/cuda/device/async_copy.cuh"
#include "antichain/backends/cuda/device/chain_form.cuh"
#include "antichain/backends/cuda/device/element.cuh"

namespace antichain::device {

template <class T, int kRows>
struct alignas(sizeof(T) * kRows < 16 ? sizeof(T) * kRows : 16) Column {
  T rows[kRows];
};

inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
inline double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }

// Copies one element to shared memory, without waiting where the hardware can.
template <class T>
void copy_later(T* to, const T* from) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
    const unsigned place = unsigned(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from),
                 "n"(sizeof(T)));
  } else {
    *to = *from;
  }
}

// Threads own elements: places count those of some columns, and thread i has every blockDim.x-th
// from the i-th on. Of tall rows, a warp has 8 columns of 4 rows each; some may be behind the last
// column.
struct Place {
  int row, column;
};
template <int kRows>
inline Place place_of(int i) {
  if constexpr (kRows < kTallRows) {
    return {i % kRows, i / kRows};
  } else {
    const int lane = i % 32, square = i / 32;
    return {square % (kRows / 4) * 4 + lane / 8, square / (kRows / 4) * 8 + lane % 8};
  }
}
template <int kRows, int kColumns>
constexpr int kPlaces = (kRows < kTallRows ? kColumns : (kColumns + 7) / 8 * 8) * kRows;
template <int kRows, int kColumns>
inline bool is_inside(Place place) {
  return kRows < kTallRows || kColumns % 8 == 0 || place.column < kColumns;
}

// Rows [first, first + kRows) of a value of `rows` rows; 0 behind the last.
template <int kRows, int kColumns, class T>
void read_rows(T* to, const T* from, long long first, long long rows) {
  constexpr int kPitch = row_pitch(kRows, sizeof(T));
  for (int i = threadIdx.x; i < kPlaces<kRows, kColumns>; i += blockDim.x) {
    Place place = place_of<kRows>(i);
    if constexpr (kRows < kTallRows) {
      place = {i / kColumns, i % kColumns};  // threads beside each other read so
    }
    if (!is_inside<kRows, kColumns>(place)) {
      continue;
    }
    T* const element = to + place.column * kPitch + place.row;
    if (first + place.row < rows) {
      copy_later(element, from + (first + place.row) * kColumns + place.column);
    } else {
      *element = T{};
    }
  }
}
// Each thread copies the elements that it owns.
template <int kRows, int kColumns, class T>
void copy_rows(T* to, const T* from) {
  constexpr int kPitch = row_pitch(kRows, sizeof(T));
  for (int i = threadIdx.x; i < kPlaces<kRows, kColumns>; i += blockDim.x) {
    const Place place = place_of<kRows>(i);
    if (is_inside<kRows, kColumns>(place)) {
      to[place.column * kPitch + place.row] = from[place.column * kPitch + place.row];
    }
  }
}
// Elements that are read at once.
template <class T>
constexpr int kVector = 16 / sizeof(T);

// A view may begin anywhere: its elements are read one by one.
template <int kHeight, int kColumns, int kPitch, class T>
void read_matrix(T* to, const T* from) {
  if constexpr (kColumns % kVector<T> == 0 && kPitch % kVector<T> == 0) {
    if ((unsigned long long)from % 16 == 0) {
      using Vector = Column<T, kVector<T>>;
      constexpr int kVectors = kColumns / kVector<T>;
      for (int i = threadIdx.x; i < kHeight * kVectors; i += blockDim.x) {
        copy_later((Vector*)to + i / kVectors * (kPitch / kVector<T>)+i % kVectors,
                   (const Vector*)from + i);
      }
      return;
    }
  }
  for (int i = threadIdx.x; i < kHeight * kColumns; i += blockDim.x) {
    copy_later(to + i / kColumns * kPitch + i % kColumns, from + i);
  }
}
// Threads write the elements that they own.
template <int kRows, int kColumns, class T>
void write_rows(T* to, const T* from, long long first, long long rows) {
  for (int i = threadIdx.x; i < kPlaces<kRows, kColumns>; i += blockDim.x) {
    const Place place = place_of<kRows>(i);
    if (is_inside<kRows, kColumns>(place) && first + place.row < rows) {
      to[(first + place.row) * kColumns + place.column] =
          from[place.column * row_pitch(kRows, sizeof(T)) + place.row];
    }
  }
}

// left[kRows, kInner] · matrix[kInner, kColumns] of few rows, which may lie transposed; every
// kSplits-th part of the sums on its own.
template <int kRows, int kInner, int kColumns, int kSplits, int kPitch, bool kTransposed, class T>
void multiply(Compute<T>* sums, const T* left, const T* matrix) {
  constexpr int kPart = (kInner + kSplits - 1) / kSplits;
  // A row of a transposed matrix is read several elements at once.
  constexpr bool kTogether =
      kTransposed && kInner % kSplits == 0 && kPart % kVector<T> == 0 && kPitch % kVector<T> == 0;
  constexpr int kStep = kTogether ? kVector<T> : 1;
  for (int task = threadIdx.x; task < kColumns * kSplits; task += blockDim.x) {
    const int column = task % kColumns, first = task / kColumns * kPart;
    Compute<T> sum[kRows] = {};
#pragma unroll(16 / kStep)
    for (int n = 0; n < kPart; n += kStep) {
      const int k = first + n;
      if (kInner % kSplits == 0 || k < kInner) {
        const auto factors =
            *(const Column<T, kStep>*)(matrix +
                                       (kTransposed ? column * kPitch + k : k * kPitch + column));
#pragma unroll
        for (int m = 0; m < kStep; ++m) {
          const auto rows = ((const Column<T, kRows>*)left)[k + m];
#pragma unroll
          for (int row = 0; row < kRows; ++row) {
            sum[row] = multiply_add(load<T>(rows.rows[row]), load<T>(factors.rows[m]), sum[row]);
          }
        }
      }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      sums[task * kRows + row] = sum[row];
    }
  }
}
template <int kRows, int kColumns, int kSplits, class T>
void add_splits(T* out, const Compute<T>* sums) {
  for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x) {
    Compute<T> sum = sums[i];
#pragma unroll
    for (int split = 1; split < kSplits; ++split) {
      sum += sums[split * kRows * kColumns + i];
    }
    out[i] = stored<T>(sum);
  }
}

// Where a lane's number of an output lies, step by step. It is stored in a way that the compiler
// neither computes addresses of later steps from that of the first one nor moves in front of
// anything that a step waits for.
class OutputWalk {
 public:
  OutputWalk(void* first, long long stride)
      : address_((unsigned long long)__cvta_generic_to_global(first)), stride_(4 * stride) {}
  void store(int further, float number) const {
    asm volatile("st.global.f32 [%0], %1;" ::"l"(address_ + 4 * further), "f"(number));
  }
  void advance() {
    address_ += stride_;
    asm volatile("" : "+l"(address_));
  }

 private:
  unsigned long long address_;
  long long stride_;
};

}  // namespace antichain::device
