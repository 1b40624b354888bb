// Products of two sparse matrices at the stored positions of a third, a warp per row of the result.
// Whoever includes this has included element.cuh before, or what stands for it on the host.
#pragma once

namespace antichain::device {

constexpr unsigned kAllLanes = 0xffffffffu;

// Matrices of a batch of `count`; the values of the next one are `step` elements on. A turned
// pattern has places: where the value of its n-th element is.
template <class T, class Index, class IndexA, class IndexB>
struct SparseProduct {
  using Element = T;
  long long count, rows, inner, columns, stored_a, stored_b, stored, step_a, step_b;
  double* whole;
  const IndexA *starts_a, *columns_a;
  const long long* places_a;
  const T* a;
  const IndexB *starts_b, *columns_b;
  const long long* places_b;
  const T* b;
  const Index *starts, *result;
  T* out;
};
// A wrong pattern has been reported; here it must not lead elsewhere.
inline long long within(long long place, long long stored) {
  return place < 0 ? 0 : place > stored ? stored : place;
}
template <class T>
double value_at(const T* values, const long long* places, long long element) {
  return double(load<T>(values[places ? places[element] : element]));
}
// Of an element of a, the row of b that it meets; -1 for none.
template <class Product>
long long met_row(const Product& a, long long element) {
  const long long row = a.columns_a[element];
  return row >= 0 && row < a.inner ? row : -1;
}

// Lanes take the elements of a row of b side by side; those of one column take turns.
template <class Product>
void multiply_matrices(const Product& a) {
  using T = typename Product::Element;
  const int lane = threadIdx.x % 32;
  const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const long long warps = (long long)gridDim.x * blockDim.x / 32;
  double* whole = a.whole + warp * a.columns;
  for (long long task = warp; task < a.count * a.rows; task += warps) {
    const long long n = task / a.rows, row = task % a.rows;
    const long long begin = within(a.starts[row], a.stored);
    const long long end = within(a.starts[row + 1], a.stored);
    for (long long p = begin + lane; p < end; p += 32) {
      const long long column = a.result[p];
      if (column >= 0 && column < a.columns) {
        whole[column] = 0;
      }
    }
    __syncwarp();
    const long long end_a = within(a.starts_a[row + 1], a.stored_a);
    for (long long i = within(a.starts_a[row], a.stored_a); i < end_a; ++i) {
      const long long inner = met_row(a, i);
      if (inner < 0) {
        continue;
      }
      const double factor = value_at(a.a + n * a.step_a, a.places_a, i);
      const long long end_b = within(a.starts_b[inner + 1], a.stored_b);
      for (long long first = within(a.starts_b[inner], a.stored_b); first < end_b; first += 32) {
        const long long j = first + lane;
        long long column = -1 - lane;  // nobody else's
        double term = 0;
        if (j < end_b && a.columns_b[j] >= 0 && a.columns_b[j] < a.columns) {
          column = a.columns_b[j];
          term = factor * value_at(a.b + n * a.step_b, a.places_b, j);
        }
        const int turn = __popc(__match_any_sync(kAllLanes, column) & ((1u << lane) - 1));
        for (int now = 0; __any_sync(kAllLanes, turn >= now); ++now) {
          if (turn == now && column >= 0) {
            whole[column] += term;
          }
          __syncwarp();
        }
      }
    }
    for (long long p = begin + lane; p < end; p += 32) {
      const long long column = a.result[p];
      const bool there = column >= 0 && column < a.columns;
      a.out[n * a.stored + p] = stored<T>(Compute<T>(there ? whole[column] : 0));
    }
    __syncwarp();
  }
}

// One column: a sum per row, to which lanes add the elements of the row of a.
template <class Product>
void multiply_vectors(const Product& a) {
  using T = typename Product::Element;
  const int lane = threadIdx.x % 32;
  const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const long long warps = (long long)gridDim.x * blockDim.x / 32;
  for (long long task = warp; task < a.count * a.rows; task += warps) {
    const long long n = task / a.rows, row = task % a.rows;
    const long long end_a = within(a.starts_a[row + 1], a.stored_a);
    double sum = 0;
    for (long long i = within(a.starts_a[row], a.stored_a) + lane; i < end_a; i += 32) {
      const long long inner = met_row(a, i);
      if (inner >= 0) {
        const double factor = value_at(a.a + n * a.step_a, a.places_a, i);
        const long long end_b = within(a.starts_b[inner + 1], a.stored_b);
        for (long long j = within(a.starts_b[inner], a.stored_b); j < end_b; ++j) {
          sum += a.columns_b[j] == 0 ? factor * value_at(a.b + n * a.step_b, a.places_b, j) : 0;
        }
      }
    }
    for (int half = 16; half > 0; half /= 2) {
      sum += __shfl_xor_sync(kAllLanes, sum, half);
    }
    const long long end = within(a.starts[row + 1], a.stored);
    for (long long p = within(a.starts[row], a.stored) + lane; p < end; p += 32) {
      a.out[n * a.stored + p] = stored<T>(Compute<T>(sum));
    }
  }
}

}  // namespace antichain::device
