#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/products/matmul_plan.h"
#include "antichain/backends/cpu/products/onednn_kernels.h"
#include "antichain/backends/cpu/products/onednn_primitives.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::cpu {

namespace {

Product make_onednn_product(const ProductSizes& sizes) {
  const auto call = std::make_shared<onednn::Call>(onednn::make_matmul(sizes));
  return [call](const void* a, const void* b, void* out) {
    const std::array<void*, 3> addresses = {const_cast<void*>(a), const_cast<void*>(b), out};
    call->run(addresses, thread_scratch(call->scratch_bytes()));
  };
}

ProductSizes packed_product(DType dtype, std::int64_t rows, std::int64_t columns,
                            std::int64_t inner) {
  return {.dtype = dtype,
          .rows = rows,
          .columns = columns,
          .inner = inner,
          .a = {inner, 1},
          .b = {columns, 1},
          .out_row = columns};
}

bool can_multiply(DType dtype) {
  try {
    make_onednn_product(packed_product(dtype, 2, 3, 5));
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

// Without instructions for byte products oneDNN adds pairs of them in 16 bits, which saturates.
bool multiplies_bytes_exactly() {
  if (!can_multiply(i8)) {
    return false;
  }
  constexpr std::int64_t kInner = 64;
  const std::vector<std::int8_t> a(kInner, 127), b(kInner, -128);
  std::int32_t sum = 0;
  make_onednn_product(packed_product(i8, 1, 1, kInner))(a.data(), b.data(), &sum);
  return sum == kInner * 127 * -128;
}

Support supports_onednn_matmul(Op op) {
  // What the processor can do does not change while the program runs.
  static const bool bytes = multiplies_bytes_exactly(), brain_floats = can_multiply(bf16);
  const DType dtype = op.input(0).dtype();
  switch (dtype) {
    case DType::f32:
    case DType::f16: return {};
    case DType::bf16:
      return brain_floats ? Support{} : Support::no("oneDNN has no bf16 on this processor");
    case DType::i8:
      return bytes ? Support{} : Support::no("oneDNN's i8 products saturate on this processor");
    default: return Support::no("oneDNN does not multiply " + std::string(name(dtype)));
  }
}

// Version 2 has no f16 on CPUs, so those are multiplied as f32.
ProductPlan plan_onednn_matmul(const KernelContext& context, Destination to) {
  const DType dtype = context.in(0).dtype();
  return plan_matmul(context, dtype == f16 ? f32 : dtype, make_onednn_product, to);
}

}  // namespace

void add_onednn_matmul(std::vector<ProductKernel>& products) {
  products.push_back({.name = "onednn matmul",
                      .def = &matmul_def(),
                      .supports = supports_onednn_matmul,
                      .plan = plan_onednn_matmul,
                      .strided_inputs = true});
}

}  // namespace antichain::cpu
