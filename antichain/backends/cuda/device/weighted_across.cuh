// Walks across the chunks of a weighted scan (weighted_scan.cuh), from product to product, and
// products of many chunks.
#pragma once

#include "antichain/backends/cuda/device/weighted_steps.cuh"

namespace antichain::device {

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
    float largest = 0;
    const Four* const last = columns + ((int(a.group) + 1) % 2 * kColumns + column) * kColumn;
    float* const to = a.joined + product * kLayout.product_floats() + column;
    for (int r = first; r < first + kOwn && r < N; ++r) {
      to[r * kLayout.width()] = last[r / 4].at[r % 4];
    }
    for (int r = 0; r < N; ++r) {
      largest = fmaxf(largest, fabsf(last[r / 4].at[r % 4]));
    }
    if (first == 0) {  // zeros have no exponent, as in store_products
      *(int*)(to + N * kLayout.width()) = largest == 0 ? 0 : exponent;
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
