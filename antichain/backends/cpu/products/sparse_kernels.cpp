// Every row of a result is added up by one thread and in double, so that orders of additions hardly
// show; it is the same on any number of threads.
#include "antichain/backends/cpu/products/sparse_kernels.h"

#include <algorithm>
#include <memory>

#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/indexing/prefetch_row.h"
#include "antichain/backends/cpu/products/checked_pattern.h"
#include "antichain/backends/cpu/simd/row_loops.h"
#include "antichain/backends/cpu/threads/partial_sums.h"
#include "antichain/ops/products/sparse.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kSparseTask = 1 << 13;  // multiplications
constexpr std::size_t kRowsAtOnce = 16;

// Calls f(columns, row_starts) with checked pointers.
template <class F>
void visit_pattern(const KernelContext& context, int input, std::int64_t num_columns, F&& f) {
  visit_indices(context.in(input), [&](const auto* columns) {
    const auto* starts =
        static_cast<decltype(columns)>(context.in(input + 1).raw());  // of the same type
    check_pattern(context, input, columns, starts, num_columns);
    f(columns, starts);
  });
}

// Adds rows of `dense` to every row of `out`: each(row, add) calls add(factor, dense row) for all
// of them, in order.
template <class T, class Each>
void add_dense_rows(const RowLoops& loops, const T* dense, T* out, std::int64_t rows,
                    std::int64_t width, std::int64_t grain, Each&& each) {
  parallel_ranges(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t first = 0; first < width; first += kSummedColumns) {
        const std::int64_t columns = std::min(kSummedColumns, width - first);
        double sums[kSummedColumns] = {};
        // Rows lie anywhere in memory: they are asked for when their turn is known, and added some
        // at a time.
        ScaledRow waiting[kRowsAtOnce];
        std::size_t count = 0;
        each(row, [&](double factor, std::int64_t from) {
          const T* const values = dense + from * width + first;
          prefetch_row(values, columns * static_cast<std::int64_t>(sizeof(T)));
          waiting[count++] = {factor, values};
          if (count == kRowsAtOnce) {
            loops.add({waiting, count}, sums, columns);
            count = 0;
          }
        });
        loops.add({waiting, count}, sums, columns);
        for (std::int64_t i = 0; i < columns; ++i) {
          out[row * width + first + i] = convert<T>(sums[i]);
        }
      }
    }
  });
}

std::int64_t sparse_rows_per_task(std::int64_t rows, std::int64_t stored, std::int64_t width) {
  const std::int64_t per_row = (stored / std::max<std::int64_t>(rows, 1) + 1) * (width + 1);
  return std::max<std::int64_t>(1, kSparseTask / per_row);
}

KernelFunction plan_csr_matmul(const RowLoops& loops, const KernelContext& context) {
  const bool transposed = context.attr<bool>("transposed");
  const std::int64_t num_columns = context.size("num_columns");
  const std::int64_t stored = context.in(0).numel(), rows = context.in(2).numel() - 1;
  const std::int64_t out_rows = context.out().shape()[0], width = context.out().shape()[1];
  const std::int64_t grain = sparse_rows_per_task(out_rows, stored, width);
  const auto by_column =
      std::make_shared<IndexBuckets>(transposed ? stored : 0, transposed ? num_columns : 0);
  const auto row_of = std::make_shared<std::vector<std::int64_t>>(
      static_cast<std::size_t>(transposed ? stored : 0));
  return [=, &loops](KernelContext& run) {
    visit_pattern(run, 1, num_columns, [&](const auto* columns, const auto* starts) {
      visit_dtype(run.out().dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T *values = run.in(0).data<T>(), *dense = run.in(3).data<T>();
        T* out = run.out().data<T>();
        if (!transposed) {
          add_dense_rows(loops, dense, out, out_rows, width, grain,
                         [&](std::int64_t row, auto&& add) {
                           for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) {
                             add(convert<double>(values[i]), columns[i]);
                           }
                         });
          return;
        }
        by_column->fill(run.in(1));
        for (std::int64_t row = 0; row < rows; ++row) {
          std::fill(row_of->begin() + starts[row], row_of->begin() + starts[row + 1], row);
        }
        add_dense_rows(loops, dense, out, out_rows, width, grain,
                       [&](std::int64_t column, auto&& add) {
                         for (const std::int64_t i : by_column->positions(column)) {
                           add(convert<double>(values[i]), (*row_of)[static_cast<std::size_t>(i)]);
                         }
                       });
      });
    });
  };
}

// Rows of b lie anywhere in memory: they are asked for while the ones before are multiplied.
constexpr std::int64_t kDotsAhead = 6;

KernelFunction plan_csr_sampled_matmul(const RowLoops& loops, const KernelContext& context) {
  const std::int64_t num_columns = context.size("num_columns");
  const std::int64_t rows = context.in(1).numel() - 1, width = context.in(2).shape()[1];
  const std::int64_t grain = sparse_rows_per_task(rows, context.in(0).numel(), width);
  return [=, &loops](KernelContext& run) {
    visit_pattern(run, 0, num_columns, [&](const auto* columns, const auto* starts) {
      visit_dtype(run.out().dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T *a = run.in(2).data<T>(), *b = run.in(3).data<T>();
        T* out = run.out().data<T>();
        const auto bytes = width * static_cast<std::int64_t>(sizeof(T));
        parallel_ranges(rows, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const T* const left = a + row * width;
            for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) {
              if (i + kDotsAhead < starts[row + 1]) {
                prefetch_row(b + columns[i + kDotsAhead] * width, bytes);
              }
              out[i] = convert<T>(loops.dot(left, b + columns[i] * width, width));
            }
          }
        });
      });
    });
  };
}

}  // namespace

void register_sparse(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const auto add = [&kernels](const OpDef& def, auto plan) {
      kernels.add(def, {.name = std::string(name(kLevel)) + ", parallel over rows",
                        .supports = [](Op) { return cpu_supports(kLevel); },
                        .plan =
                            [plan](const KernelContext& context) {
                              return plan(row_loops<kLevel>(context.out().dtype()), context);
                            }});
    };
    add(csr_matmul_def(), plan_csr_matmul);
    add(csr_sampled_matmul_def(), plan_csr_sampled_matmul);
  });
  kernels.add(csr_product_def(), {.name = "parallel over rows",
                                  .supports = [](Op) { return Support{}; },
                                  .plan = plan_csr_product});
}

}  // namespace antichain::cpu
