#include "antichain/backends/cpu/indexing/top_k_kernel.h"

#include <algorithm>
#include <type_traits>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kMostRanked = 64;     // beyond, moving them costs more than sorting
constexpr std::int64_t kTopKTask = 1 << 15;  // elements

// 16-bit floats are compared as float.
template <class T>
using Ranked =
    std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;

// NaN comes last, whichever way the rest is ordered.
template <bool kLargest, class C>
bool is_better(C a, C b) {
  if (b != b) {
    return a == a;
  }
  return kLargest ? a > b : a < b;
}

// Keeps the best `k` elements of a row in order, the first of equals in front. Nearly every element
// of a long row is worse than all that are kept, so one comparison per element is what it costs.
template <bool kLargest, class T>
void rank_row(const T* row, std::int64_t size, std::int64_t k, T* values, std::int64_t* indices) {
  using C = Ranked<T>;
  C best[kMostRanked];
  const auto insert = [&](C value, std::int64_t from, std::int64_t kept) {
    std::int64_t at = kept;
    for (; at > 0 && is_better<kLargest>(value, best[at - 1]); --at) {
      best[at] = best[at - 1];
      indices[at] = indices[at - 1];
    }
    best[at] = value;
    indices[at] = from;
  };
  for (std::int64_t i = 0; i < k; ++i) {
    insert(convert<C>(row[i]), i, i);
  }
  for (std::int64_t i = k; i < size; ++i) {
    const auto value = convert<C>(row[i]);
    if (is_better<kLargest>(value, best[k - 1])) {
      insert(value, i, k - 1);
    }
  }
  for (std::int64_t i = 0; i < k; ++i) {
    values[i] = row[indices[i]];
  }
}

Support supports_top_k(Op op) {
  const int rank = op.input(0).rank();
  if (normalize_axis(op.attrs().get<std::int64_t>("axis"), rank, "axis") != rank - 1) {
    return Support::no("the axis is not the last one");
  }
  const auto k = op.attrs().get<Dim>("k").range();
  return k.max <= kMostRanked ? Support{} : Support::no("k may be above 64");
}

void run_top_k(KernelContext& context) {
  const Tensor& x = context.in(0);
  const std::int64_t size = x.shape().back(), k = context.out().shape().back();
  if (k == 0 || x.numel() == 0) {
    return;
  }
  const bool largest = context.attr<bool>("largest");
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* rows = x.data<T>();
    T* values = context.out(0).data<T>();
    auto* indices = context.out(1).data<std::int64_t>();
    const auto rank = largest ? rank_row<true, T> : rank_row<false, T>;
    parallel_ranges(x.numel() / size, std::max<std::int64_t>(1, kTopKTask / size),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        rank(rows + row * size, size, k, values + row * k, indices + row * k);
                      }
                    });
  });
}

}  // namespace

void register_top_k(KernelTable& kernels) {
  kernels.add(top_k_def(), {.name = "one pass", .supports = supports_top_k, .run = run_top_k});
}

}  // namespace antichain::cpu
