#include "antichain/backends/cuda/sparse_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/csr_pattern.h"
#include "antichain/backends/cuda/element_code.h"

namespace antichain::cuda {

namespace {

constexpr int kA = 0, kB = 3, kResult = 6;  // inputs, as the op has them
constexpr std::int64_t kWarp = 32, kWarpsPerBlock = 8;
constexpr std::int64_t kMostBlocks = 1 << 14;
constexpr std::int64_t kMostWorkspace = 1 << 26;  // bytes of rows of whole products

enum Slot : std::size_t {
  kWhole = 9,
  kStartsA,
  kColumnsA,
  kPlacesA,
  kValuesA,
  kStartsB,
  kColumnsB,
  kPlacesB,
  kValuesB,
  kStarts,
  kColumns,
  kOut,
  kSlots
};

// An operand: its pattern and the slots where the kernel looks for it.
struct SparseOperand {
  std::shared_ptr<CsrPattern> pattern;
  int input;
  bool turned;
  std::size_t first_slot;

  void set(Launch& launch, const KernelContext& run) const {
    pattern->prepare(run);
    launch.set(first_slot, turned ? pattern->column_starts() : run.in(input + 2).raw());
    launch.set(first_slot + 1, turned ? pattern->rows() : run.in(input + 1).raw());
    launch.set(first_slot + 2, turned ? pattern->order() : nullptr);
    launch.set(first_slot + 3, run.in(input).raw());
  }
};

// Where the values of the next matrix of a batch begin; one for all stays where it is.
std::int64_t step_of(const Tensor& values) {
  return values.shape()[0] == 1 ? 0 : values.shape()[1];
}

}  // namespace

KernelFunction plan_csr_product(const KernelContext& context, const Context& device) {
  const bool turned_a = context.attr<bool>("transpose_a"),
             turned_b = context.attr<bool>("transpose_b");
  const std::int64_t columns_a = context.size("num_columns_a"),
                     columns_b = context.size("num_columns_b");
  const std::int64_t rows = context.in(kResult + 1).numel() - 1;
  const std::int64_t rows_b = context.in(kB + 2).numel() - 1;
  const std::int64_t inner = turned_b ? columns_b : rows_b, columns = turned_b ? rows_b : columns_b;
  const std::int64_t count = context.out().shape()[0];
  const SparseOperand a{std::make_shared<CsrPattern>(context, device, kA + 1, columns_a, turned_a),
                        kA, turned_a, kStartsA},
      b{std::make_shared<CsrPattern>(context, device, kB + 1, columns_b, turned_b), kB, turned_b,
        kStartsB};
  const auto result =
      std::make_shared<CsrPattern>(context, device, kResult, columns, /*turned=*/false);
  const bool by_vector = columns == 1;
  // Every warp has a row of the whole product to itself.
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t room =
      by_vector ? kMostBlocks
                : kMostWorkspace / std::max<std::int64_t>(1, row_bytes * kWarpsPerBlock);
  const std::int64_t wanted = (count * rows + kWarpsPerBlock - 1) / kWarpsPerBlock;
  const std::int64_t blocks = std::min({wanted, kMostBlocks, std::max<std::int64_t>(1, room)});
  const auto whole = DeviceContext::allocate(
      device, by_vector ? 0 : static_cast<std::size_t>(blocks * kWarpsPerBlock * row_bytes));
  std::vector<std::int64_t> slots = {count,
                                     rows,
                                     inner,
                                     columns,
                                     context.in(kA + 1).numel(),
                                     context.in(kB + 1).numel(),
                                     context.in(kResult).numel(),
                                     step_of(context.in(kA)),
                                     step_of(context.in(kB))};
  slots.resize(kSlots);
  const auto launch = std::make_shared<Launch>(
      device,
      csr_product_text(context.out().dtype(), context.in(kResult).dtype(), turned_a, turned_b),
      by_vector ? "multiply_vectors" : "multiply", blocks,
      dim3(static_cast<unsigned>(kWarp * kWarpsPerBlock)), slots);
  return [a, b, result, launch, whole](KernelContext& run) {
    a.set(*launch, run);
    b.set(*launch, run);
    result->prepare(run);
    launch->set(kWhole, whole->data());
    launch->set(kStarts, run.in(kResult + 1).raw());
    launch->set(kColumns, run.in(kResult).raw());
    launch->set(kOut, run.out().raw());
    launch->run();
  };
}

std::string csr_product_text(DType dtype, DType index, bool turned_a, bool turned_b) {
  const std::string own(storage_type(index)), turned = "long long";
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {0};
using Index = {1};
using IndexA = {2};
using IndexB = {3};
)",
                     storage_type(dtype), own, turned_a ? turned : own, turned_b ? turned : own) +
         R"(constexpr unsigned kAll = 0xffffffffu;
struct Arguments {
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
long long within(long long place, long long stored) {
  return place < 0 ? 0 : place > stored ? stored : place;
}
double value(const T* values, const long long* places, long long element) {
  return double(load<T>(values[places ? places[element] : element]));
}
// Of an element of a, the row of b that it meets; -1 for none.
long long met(const Arguments& a, long long element) {
  const long long row = a.columns_a[element];
  return row >= 0 && row < a.inner ? row : -1;
}

// Lanes take the elements of a row of b side by side; those of one column take turns.
extern "C" __global__ void multiply(const Arguments a) {
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
      const long long inner = met(a, i);
      if (inner < 0) {
        continue;
      }
      const double factor = value(a.a + n * a.step_a, a.places_a, i);
      const long long end_b = within(a.starts_b[inner + 1], a.stored_b);
      for (long long first = within(a.starts_b[inner], a.stored_b); first < end_b; first += 32) {
        const long long j = first + lane;
        long long column = -1 - lane;  // nobody else's
        double term = 0;
        if (j < end_b && a.columns_b[j] >= 0 && a.columns_b[j] < a.columns) {
          column = a.columns_b[j];
          term = factor * value(a.b + n * a.step_b, a.places_b, j);
        }
        const int turn = __popc(__match_any_sync(kAll, column) & ((1u << lane) - 1));
        for (int now = 0; __any_sync(kAll, turn >= now); ++now) {
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
extern "C" __global__ void multiply_vectors(const Arguments a) {
  const int lane = threadIdx.x % 32;
  const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const long long warps = (long long)gridDim.x * blockDim.x / 32;
  for (long long task = warp; task < a.count * a.rows; task += warps) {
    const long long n = task / a.rows, row = task % a.rows;
    const long long end_a = within(a.starts_a[row + 1], a.stored_a);
    double sum = 0;
    for (long long i = within(a.starts_a[row], a.stored_a) + lane; i < end_a; i += 32) {
      const long long inner = met(a, i);
      if (inner >= 0) {
        const double factor = value(a.a + n * a.step_a, a.places_a, i);
        const long long end_b = within(a.starts_b[inner + 1], a.stored_b);
        for (long long j = within(a.starts_b[inner], a.stored_b); j < end_b; ++j) {
          sum += a.columns_b[j] == 0 ? factor * value(a.b + n * a.step_b, a.places_b, j) : 0;
        }
      }
    }
    for (int half = 16; half > 0; half /= 2) {
      sum += __shfl_xor_sync(kAll, sum, half);
    }
    const long long end = within(a.starts[row + 1], a.stored);
    for (long long p = within(a.starts[row], a.stored) + lane; p < end; p += 32) {
      a.out[n * a.stored + p] = stored<T>(Compute<T>(sum));
    }
  }
}
)";
}

}  // namespace antichain::cuda
