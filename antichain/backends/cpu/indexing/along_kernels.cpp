#include "antichain/backends/cpu/indexing/along_kernels.h"

#include <algorithm>
#include <memory>

#include "antichain/backends/cpu/rows/fold_stages.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/along_axis.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kAlongTask = 1 << 15;  // elements
constexpr std::int64_t kAlongColumns = 1024;  // of a task, when the axis is not the innermost

// 16-bit floats are compared as float.
template <class T>
using Comparable =
    std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;

// Calls f(outer, first column, last column), several at once.
template <class F>
void for_each_column_block(const AxisSplit& split, F&& f) {
  const std::int64_t blocks = (split.inner + kAlongColumns - 1) / kAlongColumns;
  const std::int64_t elements =
      std::max<std::int64_t>(1, split.size * std::min(split.inner, kAlongColumns));
  parallel_ranges(split.outer * blocks, std::max<std::int64_t>(1, kAlongTask / elements),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t n = begin; n < end; ++n) {
                      const std::int64_t first = n % blocks * kAlongColumns;
                      f(n / blocks, first, std::min(split.inner, first + kAlongColumns));
                    }
                  });
}

// The first of the best elements of a packed row, or the first NaN: the extreme by vector
// instructions, then the first element that equals it.
template <class T>
std::int64_t find_best(const T* row, std::int64_t size, const FoldStage& extreme) {
  using C = Compute<T>;
  C best = convert<C>(row[0]);
  extreme.loops.rows(row, 1, size, size, nullptr, &best);
  const auto wanted = convert<Comparable<T>>(best);
  std::int64_t at = 0;
  if (best != best) {
    while (convert<Comparable<T>>(row[at]) == convert<Comparable<T>>(row[at])) {
      ++at;
    }
  } else {
    while (convert<Comparable<T>>(row[at]) != wanted) {
      ++at;
    }
  }
  return at;
}

template <class T>
void best_of_columns(const T* x, const AxisSplit& split, std::int64_t first, std::int64_t last,
                     bool largest, std::int64_t* out) {
  using C = Comparable<T>;
  C best[kAlongColumns];
  for (std::int64_t i = first; i < last; ++i) {
    best[i - first] = convert<C>(x[i]);
    out[i] = 0;
  }
  for (std::int64_t n = 1; n < split.size; ++n) {
    const T* row = x + n * split.inner;
    for (std::int64_t i = first; i < last; ++i) {
      const C value = convert<C>(row[i]), champion = best[i - first];
      const bool better = largest ? value > champion : value < champion;
      const bool wins = (better || value != value) && champion == champion;
      best[i - first] = wins ? value : champion;
      out[i] = wins ? n : out[i];
    }
  }
}

auto plan_arg(const FoldLevel& level, bool largest) {
  return [=](const KernelContext& context) -> KernelFunction {
    const Tensor& x = context.in(0);
    const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
    const FoldStage extreme = level.stage(largest ? Fold::largest : Fold::smallest, x.dtype());
    return [=](KernelContext& run) {
      if (run.out().numel() == 0) {
        return;
      }
      require<ShapeError>(split.size > 0, "{}: there is no element to choose from", run.where);
      auto* out = run.out().data<std::int64_t>();
      visit_dtype(run.in(0).dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* values = run.in(0).data<T>();
        for_each_column_block(
            split, [&](std::int64_t outer, std::int64_t first, std::int64_t last) {
              const T* lines = values + outer * split.size * split.inner;
              if (split.inner == 1) {
                out[outer] = find_best(lines, split.size, extreme);
              } else {
                best_of_columns(lines, split, first, last, largest, out + outer * split.inner);
              }
            });
      });
    };
  };
}

// Adds up `count` lines from position `begin` to `end`, in the order of adding, beginning with
// totals. Elements of a line are `step` apart, the lines themselves kBetween, or `between` when
// that is 0.
template <std::int64_t kBetween, class T, class C>
void add_up(const T* x, T* out, std::int64_t size, std::int64_t step, const CumsumOptions& options,
            std::int64_t begin, std::int64_t end, std::int64_t between, std::int64_t count,
            C* totals) {
  for (std::int64_t n = begin; n < end; ++n) {
    const std::int64_t row = (options.reverse ? size - 1 - n : n) * step;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = row + i * (kBetween == 0 ? between : kBetween);
      const C before = totals[i], total = before + convert<C>(x[at]);
      totals[i] = total;
      out[at] = convert<T>(options.exclusive ? before : total);
    }
  }
}

// A few long lines are cut into pieces: first their sums, then what comes before each of them, then
// the elements.
template <class T, class C>
void add_up_pieces(const T* x, T* out, const AxisSplit& split, const CumsumOptions& options,
                   std::int64_t pieces, C* sums) {
  const auto end_of = [&](std::int64_t piece) {
    return std::min(split.size, (piece + 1) * kAlongTask);
  };
  parallel_tasks(split.outer * pieces, [&](std::int64_t task) {
    const T* line = x + task / pieces * split.size;
    const std::int64_t piece = task % pieces;
    C total = 0;
    for (std::int64_t n = piece * kAlongTask; n < end_of(piece); ++n) {
      total += convert<C>(line[options.reverse ? split.size - 1 - n : n]);
    }
    sums[task] = total;
  });
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    C before = 0;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      C& sum = sums[outer * pieces + piece];
      const C here = sum;
      sum = before;
      before += here;
    }
  }
  parallel_tasks(split.outer * pieces, [&](std::int64_t task) {
    const std::int64_t line = task / pieces * split.size, piece = task % pieces;
    add_up<0>(x + line, out + line, split.size, 1, options, piece * kAlongTask, end_of(piece), 0, 1,
              sums + task);
  });
}

KernelFunction plan_cumsum(const KernelContext& context) {
  constexpr std::int64_t kFewLines = 64;
  const Tensor& x = context.in(0);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const CumsumOptions options{context.attr<bool>("exclusive"), context.attr<bool>("reverse")};
  const bool in_pieces = split.inner == 1 && split.outer < kFewLines && split.size > kAlongTask;
  const std::int64_t pieces = in_pieces ? (split.size + kAlongTask - 1) / kAlongTask : 0;
  return visit_dtype(x.dtype(), [&](auto zero) -> KernelFunction {
    using T = decltype(zero);
    using C = Compute<T>;
    const auto sums =
        std::make_shared<std::vector<C>>(static_cast<std::size_t>(split.outer * pieces));
    return [=](KernelContext& run) {
      const T* values = run.in(0).data<T>();
      T* out = run.out().data<T>();
      if (in_pieces) {
        add_up_pieces(values, out, split, options, pieces, sums->data());
        return;
      }
      if (split.inner == 1) {
        // Several lines at once: the additions of one wait for each other.
        constexpr std::int64_t kLines = 8;
        const std::int64_t tasks =
            std::max<std::int64_t>(1, kAlongTask / std::max<std::int64_t>(1, kLines * split.size));
        parallel_ranges(split.outer, tasks * kLines, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t line = begin; line < end; line += kLines) {
            C totals[kLines] = {};
            const std::int64_t at = line * split.size, lines = std::min(kLines, end - line);
            add_up<0>(values + at, out + at, split.size, 1, options, 0, split.size, split.size,
                      lines == kLines ? kLines : lines, totals);
          }
        });
        return;
      }
      for_each_column_block(split, [&](std::int64_t outer, std::int64_t first, std::int64_t last) {
        C totals[kAlongColumns] = {};
        const std::int64_t at = outer * split.size * split.inner + first;
        add_up<1>(values + at, out + at, split.size, split.inner, options, 0, split.size, 1,
                  last - first, totals);
      });
    };
  });
}

}  // namespace

void register_along_axis(KernelTable& kernels) {
  for (const OpDef* def : along_axis_family()) {
    if (def->name == "cumsum") {
      kernels.add(*def, {.name = "parallel lines",
                         .supports = [](Op) { return Support{}; },
                         .plan = plan_cumsum,
                         .in_place = true});
      continue;
    }
    for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
      const FoldLevel level{kLevel, &fold_table<kLevel>()};
      kernels.add(*def, {.name = std::string(name(kLevel)) + " search",
                         .supports = [](Op) { return cpu_supports(kLevel); },
                         .plan = plan_arg(level, def->name == "argmax")});
    });
  }
}

}  // namespace antichain::cpu
