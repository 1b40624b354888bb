#include "antichain/backends/cpu/elementwise/updated_rows.h"

namespace antichain::cpu {

namespace {

template <class T>
bool is_zero_row(const void* row, std::int64_t width) {
  const T* const values = static_cast<const T*>(row);
  bool any = false;
  for (std::int64_t i = 0; i < width; ++i) {
    any |= convert<float>(values[i]) != 0;
  }
  return !any;
}

template <>
bool is_zero_row<double>(const void* row, std::int64_t width) {
  const double* const values = static_cast<const double*>(row);
  bool any = false;
  for (std::int64_t i = 0; i < width; ++i) {
    any |= values[i] != 0;
  }
  return !any;
}

}  // namespace

IsZero is_zero_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return is_zero_row<double>;
    case DType::bf16: return is_zero_row<bfloat16>;
    case DType::f16: return is_zero_row<float16>;
    default: return is_zero_row<float>;
  }
}

TableRows table_rows(const KernelContext& context, std::span<const std::string> states) {
  const DType dtype = context.states->get(states[0], *context.device).dtype();
  TableRows rows{.memory = modified_memory(*context.states, states),
                 .states = states.size(),
                 .layout = row_layout(context, context.states->get(states[0], *context.device)),
                 .first_bytes = 0,
                 .other_bytes = 0};
  const std::int64_t width = rows.layout.width;
  rows.first_bytes = width * static_cast<std::int64_t>(size_of(dtype));
  rows.other_bytes = width * static_cast<std::int64_t>(size_of(buffer_dtype(dtype)));
  return rows;
}

}  // namespace antichain::cpu
