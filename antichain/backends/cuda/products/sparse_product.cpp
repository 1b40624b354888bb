#include "antichain/backends/cuda/products/sparse_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/products/csr_pattern.h"

namespace antichain::cuda {

namespace {

constexpr int kLeftInput = 0, kRightInput = 3, kResultInput = 6;  // inputs, as the op has them
constexpr std::int64_t kWarpsPerBlock = 8;
constexpr std::int64_t kMostProductBlocks = 1 << 14;
constexpr std::int64_t kMostWholeBytes = 1 << 26;  // bytes of rows of whole products

// Members of SparseProduct (device/sparse_product.cuh), 8 bytes each.
struct CsrProductSlot {
  enum : std::size_t {
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
    kNumSlots
  };
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
  const std::int64_t rows = context.in(kResultInput + 1).numel() - 1;
  const std::int64_t rows_b = context.in(kRightInput + 2).numel() - 1;
  const std::int64_t inner = turned_b ? columns_b : rows_b, columns = turned_b ? rows_b : columns_b;
  const std::int64_t count = context.out().shape()[0];
  const SparseOperand a{
      std::make_shared<CsrPattern>(context, device, kLeftInput + 1, columns_a, turned_a),
      kLeftInput, turned_a, CsrProductSlot::kStartsA},
      b{std::make_shared<CsrPattern>(context, device, kRightInput + 1, columns_b, turned_b),
        kRightInput, turned_b, CsrProductSlot::kStartsB};
  const auto result =
      std::make_shared<CsrPattern>(context, device, kResultInput, columns, /*turned=*/false);
  const bool by_vector = columns == 1;
  // Every warp has a row of the whole product to itself.
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t room =
      by_vector ? kMostProductBlocks
                : kMostWholeBytes / std::max<std::int64_t>(1, row_bytes * kWarpsPerBlock);
  const std::int64_t wanted = (count * rows + kWarpsPerBlock - 1) / kWarpsPerBlock;
  const std::int64_t blocks =
      std::min({wanted, kMostProductBlocks, std::max<std::int64_t>(1, room)});
  // Columns outside of the result are added up as well, from whatever is there.
  const auto whole = DeviceContext::allocate_zeros(
      device, by_vector ? 0 : static_cast<std::size_t>(blocks * kWarpsPerBlock * row_bytes));
  std::vector<std::int64_t> slots = {count,
                                     rows,
                                     inner,
                                     columns,
                                     context.in(kLeftInput + 1).numel(),
                                     context.in(kRightInput + 1).numel(),
                                     context.in(kResultInput).numel(),
                                     step_of(context.in(kLeftInput)),
                                     step_of(context.in(kRightInput))};
  slots.resize(CsrProductSlot::kNumSlots);
  const auto launch = std::make_shared<Launch>(
      device,
      csr_product_text(context.out().dtype(), context.in(kResultInput).dtype(), turned_a, turned_b),
      by_vector ? "multiply_by_vectors" : "multiply", blocks,
      dim3(static_cast<unsigned>(kWarp * kWarpsPerBlock)), slots);
  return [a, b, result, launch, whole](KernelContext& run) {
    a.set(*launch, run);
    b.set(*launch, run);
    result->prepare(run);
    launch->set(CsrProductSlot::kWhole, whole->data());
    launch->set(CsrProductSlot::kStarts, run.in(kResultInput + 1).raw());
    launch->set(CsrProductSlot::kColumns, run.in(kResultInput).raw());
    launch->set(CsrProductSlot::kOut, run.out().raw());
    launch->run();
  };
}

std::string csr_product_text(DType dtype, DType index, bool turned_a, bool turned_b) {
  const std::string own(storage_type(index)), turned = "long long";
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/backends/cuda/device/sparse_product.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {0};
using Index = {1};
using IndexA = {2};
using IndexB = {3};
)",
                     storage_type(dtype), own, turned_a ? turned : own, turned_b ? turned : own) +
         R"(using Arguments = SparseProduct<T, Index, IndexA, IndexB>;
extern "C" __global__ void multiply(const Arguments a) { multiply_matrices(a); }
extern "C" __global__ void multiply_by_vectors(const Arguments a) { multiply_vectors(a); }
)";
}

}  // namespace antichain::cuda
