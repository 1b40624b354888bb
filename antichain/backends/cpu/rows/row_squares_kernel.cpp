#include "antichain/backends/cpu/rows/row_squares_kernel.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/elementwise/marked_rows.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/rows/row_squares.h"

namespace antichain::cpu {

namespace {

// Eight sums side by side, which the compiler keeps in vectors, added in a fixed order.
template <class T, class Rounded>
double squares_of_row(const T* row, std::int64_t width) {
  const auto read = [row](std::int64_t at) { return convert<double>(convert<Rounded>(row[at])); };
  constexpr std::int64_t kLanes = 8;
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double x = read(i + lane);
      sums[lane] += x * x;
    }
  }
  double total = 0;
  for (const double sum : sums) {
    total += sum;
  }
  for (; i < width; ++i) {
    const double x = read(i);
    total += x * x;
  }
  return total;
}

KernelFunction plan_row_squares(const KernelContext& context) {
  const std::int64_t rows = context.in(0).shape()[0];
  const auto squares = std::make_shared<std::vector<double>>(static_cast<std::size_t>(rows));
  const std::int64_t width = rows == 0 ? 0 : context.in(0).numel() / rows;
  return [=](KernelContext& run) {
    const bool* const marks = run.num_inputs() > 1 ? run.in(1).data<bool>() : nullptr;
    double* const of_row = squares->data();
    const auto square_all = [&]<class T, class Rounded>(T, Rounded) {
      const T* const x = run.in(0).data<T>();
      const auto add = [&](std::int64_t row) {
        of_row[row] = squares_of_row<T, Rounded>(x + row * width, width);
      };
      if (marks != nullptr) {
        for_each_mark(marks, rows, add);
        return;
      }
      const std::int64_t grain =
          std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, width));
      parallel_ranges(rows, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          add(row);
        }
      });
    };
    const DType dtype = run.in(0).dtype(), rounded = run.attr<DType>("rounded_to");
    if (rounded == dtype) {
      visit_dtype(dtype, [&](auto zero) { square_all(zero, zero); });
    } else if (rounded == DType::bf16) {
      square_all(float(), bfloat16());
    } else {
      square_all(float(), float16());
    }
    double total = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      total += marks == nullptr || marks[row] ? of_row[row] : 0;
    }
    *run.out().data<double>() = total;
  };
}

}  // namespace

void register_row_squares(KernelTable& kernels) {
  kernels.add(
      sum_row_squares_def(),
      {.name = "row by row", .supports = [](Op) { return Support{}; }, .plan = plan_row_squares});
}

}  // namespace antichain::cpu
