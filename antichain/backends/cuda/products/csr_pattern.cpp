#include "antichain/backends/cuda/products/csr_pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

struct CheckSlot {
  enum : std::size_t { kColumns = 7, kStarts };
};
struct SearchSlot {
  enum : std::size_t { kRowStarts = 2, kOrder, kFoundRows };
};

// The words are those of the reference.
Launch make_check(const KernelContext& context, const Context& device, int columns,
                  std::int64_t num_columns) {
  const std::int64_t stored = context.in(columns).numel();
  const std::int64_t rows = context.in(columns + 1).numel() - 1;
  const std::string where(context.where);
  IndexReport& report = device->report();
  const auto note = reinterpret_cast<std::intptr_t>(report.device_address());
  return Launch(
      device, pattern_check_text(context.in(columns).dtype()), "check", std::max(stored, rows + 1),
      {stored, rows, num_columns,
       report.source_of(where,
                        "row_starts must go from 0 to the number of stored elements, {}, but it "
                        "goes from {} to {}"),
       report.source_of(where, "row_starts must not decrease, but {} follows {} at position {}"),
       report.source_of(where, "stored element {} is in column {}, outside [0, {})"), note, 0, 0});
}

}  // namespace

std::string pattern_check_text(DType index) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain::device;
struct Arguments {{
  long long stored, rows, num_columns, wrong_ends, wrong_order, wrong_column;
  IndexNote* note;
  const {} *columns, *starts;
}};
extern "C" __global__ void check(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.stored || t <= a.rows;
       t += step) {{
    if (t == 0 && (a.starts[0] != 0 || a.starts[a.rows] != a.stored)) {{
      note_down(a.note, a.wrong_ends, a.stored, a.starts[0], a.starts[a.rows]);
    }}
    if (t > 0 && t <= a.rows && a.starts[t] < a.starts[t - 1]) {{
      note_down(a.note, a.wrong_order, a.starts[t], a.starts[t - 1], t);
    }}
    if (t < a.stored && (a.columns[t] < 0 || a.columns[t] >= a.num_columns)) {{
      note_down(a.note, a.wrong_column, t, a.columns[t], a.num_columns);
    }}
  }}
}}
)",
                     storage_type(index));
}

// A row is the number of rows that end at or in front of the element.
std::string row_search_text(DType index) {
  return fmt::format(R"(struct Arguments {{
  long long stored, rows;
  const {}* starts;
  const long long* order;
  long long* found;
}};
extern "C" __global__ void find_rows(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.stored; t += step) {{
    const long long element = a.order[t];
    long long low = 0, high = a.rows;
    while (low < high) {{
      const long long middle = (low + high) / 2;
      if (a.starts[middle + 1] <= element) {{
        low = middle + 1;
      }} else {{
        high = middle;
      }}
    }}
    a.found[t] = low;
  }}
}}
)",
                     storage_type(index));
}

std::string_view column_group() {
  return "a.indices[e] >= 0 && a.indices[e] < a.size ? a.indices[e] : 0";
}

CsrPattern::CsrPattern(const KernelContext& context, const Context& device, int columns,
                       std::int64_t num_columns, bool turned)
    : columns_(columns),
      check_(make_check(context, device, columns, num_columns)),
      work_(device, is_constant(context.op, columns) && is_constant(context.op, columns + 1)) {
  if (!turned) {
    return;
  }
  const Tensor& indices = context.in(columns);
  const std::int64_t stored = indices.numel();
  turned_.emplace(
      Turned{IndexGroups(device, {.elements = stored,
                                  .groups = num_columns,
                                  .index = indices.dtype(),
                                  .group = column_group(),
                                  .size = num_columns}),
             DeviceContext::allocate(device, static_cast<std::size_t>(stored) * sizeof(stored)),
             Launch(device, row_search_text(indices.dtype()), "find_rows", stored,
                    {stored, context.in(columns + 1).numel() - 1, 0, 0, 0})});
}

void CsrPattern::prepare(const KernelContext& run) {
  const void *columns = run.in(columns_).raw(), *starts = run.in(columns_ + 1).raw();
  work_.run([&] {
    check_.set(CheckSlot::kColumns, columns);
    check_.set(CheckSlot::kStarts, starts);
    check_.run();
    if (turned_) {
      turned_->groups.run(columns);
      turned_->find_rows.set(SearchSlot::kRowStarts, starts);
      turned_->find_rows.set(SearchSlot::kOrder, turned_->groups.order());
      turned_->find_rows.set(SearchSlot::kFoundRows, turned_->rows->data());
      turned_->find_rows.run();
    }
  });
}

}  // namespace antichain::cuda
