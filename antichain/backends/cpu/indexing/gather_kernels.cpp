#include "antichain/backends/cpu/indexing/gather_kernels.h"

#include <cstring>

#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/indexing/prefetch_row.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kGatherTaskBytes = 64 << 10;
// Rows of a large table lie anywhere in memory: they are asked for while the ones before are
// copied.
constexpr std::int64_t kGatheredAhead = 16;
constexpr std::int64_t kRowBytesAhead = 64;  // shorter rows are not asked for

std::int64_t gathered_rows_per_task(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, kGatherTaskBytes / std::max<std::int64_t>(row_bytes, 1));
}

// Copies rows of `bytes` each; T is as long as a row where that is possible.
template <class T>
struct CopyRow {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, sizeof(T)); }
};
struct CopyBytes {
  std::size_t bytes;
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, bytes); }
};

template <class F>
void visit_row(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(CopyRow<std::uint8_t>());
    case 2: return f(CopyRow<std::uint16_t>());
    case 4: return f(CopyRow<std::uint32_t>());
    case 8: return f(CopyRow<std::uint64_t>());
    default: return f(CopyBytes{bytes});
  }
}

KernelFunction plan_gather_along(const KernelContext& context, int axis) {
  const AxisSplit split(context.in(0).shape(), axis);
  const std::int64_t count = context.in(1).numel();
  const std::size_t bytes = static_cast<std::size_t>(split.inner) * size_of(context.out().dtype());
  return [=](KernelContext& run) {
    check_indices(run, 1, split.size);
    if (run.out().numel() == 0) {
      return;
    }
    auto* out = static_cast<std::byte*>(run.out().raw());
    const auto* x = static_cast<const std::byte*>(run.in(0).raw());
    const auto row_bytes = static_cast<std::int64_t>(bytes);
    visit_indices(run.in(1), [&](const auto* indices) {
      visit_row(bytes, [&](auto copy) {
        parallel_ranges(
            split.outer * count, gathered_rows_per_task(row_bytes),
            [&](std::int64_t first, std::int64_t last) {
              std::int64_t outer = first / count, k = first % count;
              for (std::int64_t row = first; row < last; ++row) {
                if (row_bytes >= kRowBytesAhead && k + kGatheredAhead < count) {
                  prefetch_row(x + (outer * split.size + indices[k + kGatheredAhead]) * row_bytes,
                               row_bytes);
                }
                copy(out + row * row_bytes, x + (outer * split.size + indices[k]) * row_bytes);
                if (++k == count) {
                  k = 0;
                  ++outer;
                }
              }
            });
      });
    });
  };
}

KernelFunction plan_gather(const KernelContext& context) {
  return plan_gather_along(context, context.axis("axis", context.in(0).rank()));
}

KernelFunction plan_embedding(const KernelContext& context) {
  return plan_gather_along(context, 0);
}

template <class T>
constexpr std::int64_t size_of_element(const T*) {
  return static_cast<std::int64_t>(sizeof(T));
}

// By value: the compiler cannot know that writing elements changes none of the sizes.
template <class T, class Index>
void take_rows(const T* x, AxisSplit value, AxisSplit picked, const Index* indices,
               std::int64_t first, std::int64_t last, T* out) {
  for (std::int64_t row = first; row < last;) {
    // The rest of the positions of one outer position.
    const std::int64_t outer = row / picked.size;
    const std::int64_t end = std::min(last, (outer + 1) * picked.size);
    const T* from = x + outer * value.size * value.inner;
    if (value.inner == 1) {
      for (; row < end; ++row) {
        out[row] = from[indices[row]];
      }
    }
    for (; row < end; ++row) {
      for (std::int64_t i = 0; i < value.inner; ++i) {
        const std::int64_t at = row * value.inner + i;
        out[at] = from[indices[at] * value.inner + i];
      }
    }
  }
}

KernelFunction plan_take_along(const KernelContext& context) {
  const int axis = context.axis("axis", context.in(0).rank());
  const AxisSplit value(context.in(0).shape(), axis), picked(context.in(1).shape(), axis);
  return [=](KernelContext& run) {
    check_indices(run, 1, value.size);
    visit_indices(run.in(1), [&](const auto* indices) {
      visit_dtype(run.out().dtype(), [&](auto zero) {
        using T = decltype(zero);
        T* out = run.out().data<T>();
        const T* x = run.in(0).data<T>();
        // A row is the elements of one position along the axis.
        parallel_ranges(picked.outer * picked.size,
                        gathered_rows_per_task(picked.inner * size_of_element(x)),
                        [=](std::int64_t first, std::int64_t last) {
                          take_rows(x, value, picked, indices, first, last, out);
                        });
      });
    });
  };
}

KernelFunction plan_one_hot(const KernelContext& context) {
  const std::int64_t classes = context.size("classes"), count = context.in(0).numel();
  const bool checked = context.attr<bool>("checked");
  return [=](KernelContext& run) {
    if (checked) {
      check_indices(run, 0, classes);
    }
    if (classes == 0) {
      return;
    }
    visit_dtype(run.out().dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* out = run.out().data<T>();
      visit_indices(run.in(0), [&](const auto* indices) {
        parallel_ranges(count,
                        gathered_rows_per_task(classes * static_cast<std::int64_t>(sizeof(T))),
                        [&](std::int64_t first, std::int64_t last) {
                          std::fill(out + first * classes, out + last * classes, zero);
                          for (std::int64_t row = first; row < last; ++row) {
                            if (indices[row] >= 0 && indices[row] < classes) {
                              out[row * classes + indices[row]] = convert<T>(1);
                            }
                          }
                        });
      });
    });
  };
}

void run_iota(KernelContext& context) {
  visit_dtype(context.out().dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = context.out().data<T>();
    parallel_ranges(context.out().numel(), gathered_rows_per_task(sizeof(T)),
                    [out](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) {
                        out[i] = convert<T>(i);
                      }
                    });
  });
}

}  // namespace

void register_gather(KernelTable& kernels) {
  const auto any = [](Op) { return Support{}; };
  kernels.add(gather_def(), {.name = "parallel lookup", .supports = any, .plan = plan_gather});
  kernels.add(embedding_def(),
              {.name = "parallel lookup", .supports = any, .plan = plan_embedding});
  kernels.add(take_along_def(),
              {.name = "parallel lookup", .supports = any, .plan = plan_take_along});
  kernels.add(one_hot_def(), {.name = "parallel rows", .supports = any, .plan = plan_one_hot});
  kernels.add(iota_def(), {.name = "parallel count", .supports = any, .run = run_iota});
}

}  // namespace antichain::cpu
