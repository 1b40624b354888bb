// Kernels that add rows which indices name. Every target is added up by one thread, in the order of
// the indices and in the type that the reference computes in: the bits are those of the reference.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "antichain/backends/cpu/indexing/gather_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/threads/partial_sums.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kScatterTask = 1 << 14;  // elements

// Calls f(row, first column, last column) for pieces of rows of a matrix, several at once.
template <class F>
void for_each_piece(std::int64_t rows, std::int64_t columns, F&& f) {
  if (rows == 0 || columns == 0) {
    return;
  }
  const std::int64_t per_row = (columns + kSummedColumns - 1) / kSummedColumns;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kScatterTask / std::min(columns, kSummedColumns));
  parallel_ranges(rows * per_row, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t column = piece % per_row * kSummedColumns;
      f(piece / per_row, column, std::min(columns, column + kSummedColumns));
    }
  });
}

KernelFunction plan_scatter_add(const KernelContext& context) {
  const AxisSplit split(context.in(0).shape(), context.axis("axis", context.in(0).rank()));
  const std::int64_t count = context.in(1).numel();
  const auto buckets = std::make_shared<IndexBuckets>(count, split.size);
  return [=](KernelContext& run) {
    check_indices(run, 1, split.size);
    buckets->fill(run.in(1));
    visit_dtype(run.out().dtype(), [&](auto zero) {
      using T = decltype(zero);
      using C = Compute<T>;
      const T *x = run.in(0).data<T>(), *updates = run.in(2).data<T>();
      T* out = run.out().data<T>();
      for_each_piece(split.outer * split.size, split.inner,
                     [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                       const std::int64_t outer = row / split.size, at = row * split.inner;
                       const auto positions = buckets->positions(row % split.size);
                       if (positions.empty()) {
                         std::copy(x + at + first, x + at + last, out + at + first);
                         return;
                       }
                       C sums[kSummedColumns];
                       for (std::int64_t i = first; i < last; ++i) {
                         sums[i - first] = convert<C>(x[at + i]);
                       }
                       for (const std::int64_t k : positions) {
                         const T* update = updates + (outer * count + k) * split.inner;
                         for (std::int64_t i = first; i < last; ++i) {
                           sums[i - first] += convert<C>(update[i]);
                         }
                       }
                       for (std::int64_t i = first; i < last; ++i) {
                         out[at + i] = convert<T>(sums[i - first]);
                       }
                     });
    });
  };
}

// Where there are many more targets than rows: all are copied, and those that rows are added to are
// found by sorting.
KernelFunction plan_few_rows(const KernelContext& context) {
  const AxisSplit split(context.in(0).shape(), context.axis("axis", context.in(0).rank()));
  const std::int64_t count = context.in(1).numel();
  const auto order = std::make_shared<std::vector<std::pair<std::int64_t, std::int64_t>>>(
      static_cast<std::size_t>(count));
  return [=](KernelContext& run) {
    check_indices(run, 1, split.size);
    visit_indices(run.in(1), [&](const auto* indices) {
      for (std::int64_t k = 0; k < count; ++k) {
        (*order)[static_cast<std::size_t>(k)] = {indices[k], k};
      }
    });
    std::ranges::sort(*order);
    visit_dtype(run.out().dtype(), [&](auto zero) {
      using T = decltype(zero);
      using C = Compute<T>;
      const T *x = run.in(0).data<T>(), *updates = run.in(2).data<T>();
      T* out = run.out().data<T>();
      parallel_ranges(run.out().numel(), kScatterTask, [&](std::int64_t first, std::int64_t last) {
        std::copy(x + first, x + last, out + first);
      });
      for_each_piece(split.outer, split.inner,
                     [&](std::int64_t outer, std::int64_t first, std::int64_t last) {
                       C sums[kSummedColumns];
                       for (std::size_t k = 0; k < order->size();) {
                         const std::int64_t target = (*order)[k].first;
                         T* const row = out + (outer * split.size + target) * split.inner;
                         for (std::int64_t i = first; i < last; ++i) {
                           sums[i - first] = convert<C>(row[i]);
                         }
                         for (; k < order->size() && (*order)[k].first == target; ++k) {
                           const T* const update =
                               updates + (outer * count + (*order)[k].second) * split.inner;
                           for (std::int64_t i = first; i < last; ++i) {
                             sums[i - first] += convert<C>(update[i]);
                           }
                         }
                         for (std::int64_t i = first; i < last; ++i) {
                           row[i] = convert<T>(sums[i - first]);
                         }
                       }
                     });
    });
  };
}

// Buckets of all targets take time for each of them.
constexpr std::int64_t kFewRows = 32;

KernelFunction plan_scatter(const KernelContext& context) {
  const AxisSplit split(context.in(0).shape(), context.axis("axis", context.in(0).rank()));
  return context.in(1).numel() < split.size / kFewRows ? plan_few_rows(context)
                                                       : plan_scatter_add(context);
}

KernelFunction plan_embedding_bag(const KernelContext& context) {
  const std::int64_t num_bags = context.out().shape()[0], width = context.out().shape()[1];
  const std::int64_t num_ids = context.in(0).shape()[0];
  const bool mean = context.attr<std::string>("mode") == "mean";
  const auto buckets = std::make_shared<IndexBuckets>(context.in(2).numel(), num_bags);
  return [=](KernelContext& run) {
    check_indices(run, 1, num_ids);
    check_indices(run, 2, num_bags);
    buckets->fill(run.in(2));
    visit_dtype(run.out().dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* table = run.in(0).data<T>();
      T* out = run.out().data<T>();
      visit_indices(run.in(1), [&](const auto* ids) {
        for_each_piece(num_bags, width,
                       [&](std::int64_t bag, std::int64_t first, std::int64_t last) {
                         const auto positions = buckets->positions(bag);
                         double sums[kSummedColumns] = {};
                         for (const std::int64_t k : positions) {
                           const T* row = table + ids[k] * width;
                           for (std::int64_t i = first; i < last; ++i) {
                             sums[i - first] += convert<double>(row[i]);
                           }
                         }
                         const double count =
                             mean ? std::max(static_cast<double>(positions.size()), 1.0) : 1.0;
                         for (std::int64_t i = first; i < last; ++i) {
                           out[bag * width + i] = convert<T>(sums[i - first] / count);
                         }
                       });
      });
    });
  };
}

// Adds to columns [first, last) of one outer position. Sizes by value: the compiler cannot know
// that writing elements changes none of them.
template <class T, class C, class Index>
void add_lines(const T* x, const T* updates, const Index* indices, AxisSplit value,
               AxisSplit picked, std::int64_t first, std::int64_t last, C* sums, T* out) {
  for (std::int64_t n = 0; n < value.size; ++n) {
    for (std::int64_t i = n * value.inner + first; i < n * value.inner + last; ++i) {
      sums[i] = convert<C>(x[i]);
    }
  }
  if (value.inner == 1) {
    for (std::int64_t k = 0; k < picked.size; ++k) {
      sums[indices[k]] += convert<C>(updates[k]);
    }
    for (std::int64_t n = 0; n < value.size; ++n) {
      out[n] = convert<T>(sums[n]);
    }
    return;
  }
  for (std::int64_t k = 0; k < picked.size; ++k) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t at = k * picked.inner + i;
      sums[indices[at] * value.inner + i] += convert<C>(updates[at]);
    }
  }
  for (std::int64_t n = 0; n < value.size; ++n) {
    for (std::int64_t i = n * value.inner + first; i < n * value.inner + last; ++i) {
      out[i] = convert<T>(sums[i]);
    }
  }
}

// One index per element: lines along the axis are independent of each other.
KernelFunction plan_scatter_add_along(const KernelContext& context) {
  const int axis = context.axis("axis", context.in(0).rank());
  const AxisSplit value(context.in(0).shape(), axis), picked(context.in(1).shape(), axis);
  return visit_dtype(context.out().dtype(), [&](auto zero) -> KernelFunction {
    using T = decltype(zero);
    using C = Compute<T>;
    const auto sums =
        std::make_shared<std::vector<C>>(static_cast<std::size_t>(context.out().numel()));
    return [=](KernelContext& run) {
      check_indices(run, 1, value.size);
      const T *x = run.in(0).data<T>(), *updates = run.in(2).data<T>();
      T* out = run.out().data<T>();
      C* all = sums->data();
      // A task takes some columns of some of the outer positions: enough to be worth it.
      const std::int64_t length = std::max<std::int64_t>(value.size + picked.size, 1);
      const std::int64_t lines = std::max<std::int64_t>(1, kScatterTask / length);
      const std::int64_t columns = std::clamp<std::int64_t>(lines, 1, kSummedColumns);
      const std::int64_t per_outer = (value.inner + columns - 1) / columns;
      const std::int64_t grain = std::max<std::int64_t>(
          1, lines / std::max<std::int64_t>(std::min(columns, value.inner), 1));
      visit_indices(run.in(1), [&](const auto* indices) {
        parallel_ranges(value.outer * per_outer, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t piece = begin; piece < end; ++piece) {
            const std::int64_t outer = piece / per_outer;
            const std::int64_t first = piece % per_outer * columns;
            const std::int64_t last = std::min(value.inner, first + columns);
            const std::int64_t to = outer * value.size * value.inner;
            const std::int64_t from = outer * picked.size * picked.inner;
            add_lines(x + to, updates + from, indices + from, value, picked, first, last, all + to,
                      out + to);
          }
        });
      });
    };
  });
}

}  // namespace

void register_scatter(KernelTable& kernels) {
  const auto any = [](Op) { return Support{}; };
  kernels.add(scatter_add_def(),
              {.name = "parallel over targets", .supports = any, .plan = plan_scatter});
  kernels.add(embedding_bag_def(),
              {.name = "parallel over bags", .supports = any, .plan = plan_embedding_bag});
  kernels.add(scatter_add_along_def(),
              {.name = "parallel over lines", .supports = any, .plan = plan_scatter_add_along});
}

}  // namespace antichain::cpu
