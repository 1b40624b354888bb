#include "antichain/backends/cpu/convolution/pooling_kernels.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kPoolGrain = 1 << 15;  // outputs times elements of a window, per range

// One element of the windows of a row of outputs: outputs [first, last) have it, the others have
// padding there.
struct Column {
  std::int64_t first, last;
  std::int32_t position;  // of output `first`, in its row of the input
};

// Outputs are computed by rows, along the last axis: for each element of a window a loop over the
// outputs of the row, which the compiler makes of vector instructions. With channels last a row is
// the channels of one position, and its windows have one column.
struct PoolPlan {
  std::int64_t planes, input_size, output_size, width;  // width: the outputs of a row
  std::int32_t stride;                                  // along the last axis
  std::int32_t channels = 1;                            // elements of a position
  double window_size;
  std::vector<std::int32_t> rows;        // where the rows of the input start that windows cover
  std::vector<std::size_t> row_ends;     // of each output row's part of `rows`
  std::vector<Column> columns;           // per element of a window along the last axis
  std::vector<std::int32_t> leftmost;    // per output of a row: the first column that it has
  std::vector<std::int32_t> in_columns;  // and how many it has

  explicit PoolPlan(const KernelContext& context);
  void add_columns(Windows& windows);
  void add_channels();
  void add_rows(const Windows& windows, std::int64_t size);

  // Calls f(x, output row, range of input rows) for every row of outputs; x and the row are
  // positions from the start of the tensors.
  template <class F>
  void for_each_row(F&& f) const {
    const std::int64_t work =
        std::max<std::int64_t>(output_size * static_cast<std::int64_t>(window_size), 1);
    const std::int64_t grain = std::max<std::int64_t>(kPoolGrain / work, 1);
    parallel_ranges(planes, grain, [&](std::int64_t first_plane, std::int64_t last_plane) {
      for (std::int64_t plane = first_plane; plane < last_plane; ++plane) {
        std::size_t start = 0;
        for (std::size_t row = 0; row < row_ends.size(); ++row) {
          f(plane * input_size, plane * output_size + static_cast<std::int64_t>(row) * width,
            std::span(rows).subspan(start, row_ends[row] - start));
          start = row_ends[row];
        }
      }
    });
  }
};

PoolPlan::PoolPlan(const KernelContext& context) {
  const AxisOrder order = AxisOrder::of(*context.attrs);
  const Shape &x = context.in(0).shape(), &out = context.out().shape();
  Windows windows{order.spatial(x), context.attr<Ints>("window"), order.spatial(out),
                  WindowSteps::of(*context.attrs)};
  const std::int64_t together = order.channels_last ? order.channels(x) : 1;
  planes = order.channels_last ? x[0] : x[0] * x[1];
  input_size = numel(windows.input) * together;
  output_size = numel(windows.output) * together;
  window_size = static_cast<double>(numel(windows.window));
  require<NotSupported>(input_size <= std::numeric_limits<std::int32_t>::max(),
                        "{}: {} elements in one {} are too many", context.where, input_size,
                        order.channels_last ? "example" : "channel");
  channels = static_cast<std::int32_t>(together);
  const std::int64_t row = order.channels_last ? together : windows.input.back();
  if (order.channels_last) {
    add_channels();
  } else {
    add_columns(windows);
  }
  add_rows(windows, row);
}

// Every output has the only column.
void PoolPlan::add_channels() {
  width = channels;
  stride = 1;
  columns.push_back({0, width, 0});
  leftmost.resize(static_cast<std::size_t>(width));
  std::iota(leftmost.begin(), leftmost.end(), 0);
  in_columns.assign(leftmost.size(), 1);
}

// Takes the last axis off the windows: what is left counts rows.
void PoolPlan::add_columns(Windows& windows) {
  width = windows.output.back();
  stride = static_cast<std::int32_t>(windows.steps.stride.back());
  const std::int64_t input = windows.input.back(), padding = windows.steps.padding.back();
  const std::int64_t window = windows.window.back();
  for (std::int64_t element = 0; element < window; ++element) {
    // Output n has this element at n * stride + element - padding.
    const std::int64_t before = std::max<std::int64_t>(padding - element, 0);
    const std::int64_t first = (before + stride - 1) / stride;
    const std::int64_t room = input - 1 + padding - element;
    const std::int64_t last = room < 0 ? 0 : std::min(width, room / stride + 1);
    columns.push_back({first, std::max(first, last),
                       static_cast<std::int32_t>(first * stride + element - padding)});
  }
  for (std::int64_t n = 0; n < width; ++n) {
    const std::int64_t start = n * stride - padding;
    const std::int64_t left = std::max<std::int64_t>(start, 0);
    leftmost.push_back(static_cast<std::int32_t>(left));
    in_columns.push_back(static_cast<std::int32_t>(std::min(start + window, input) - left));
  }
  for (Shape* sizes : {&windows.input, &windows.window, &windows.output}) {
    sizes->back() = 1;
  }
  windows.steps.stride.back() = 1;
  windows.steps.padding.back() = 0;
}

// The rows of `size` elements that the windows of each row of outputs cover.
void PoolPlan::add_rows(const Windows& windows, std::int64_t size) {
  for (std::int64_t row = 0; row < numel(windows.output); ++row) {
    for (std::int64_t element = 0; element < numel(windows.window); ++element) {
      if (const std::int64_t found = windows.input_position(row, element); found >= 0) {
        rows.push_back(static_cast<std::int32_t>(found * size));
      }
    }
    row_ends.push_back(rows.size());
  }
}

// Sixteen-bit floats are compared and added as f32.
template <class T>
auto widened(T value) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class T>
bool is_number(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value == value;
  } else {
    return true;
  }
}

// Calls f with the stride as a constant where it is a usual one, which makes better loops.
template <class F>
void with_stride(std::int32_t stride, F&& f) {
  if (stride == 1) {
    f(std::integral_constant<std::int32_t, 1>());
  } else if (stride == 2) {
    f(std::integral_constant<std::int32_t, 2>());
  } else {
    f(stride);
  }
}

// Compares the elements of one column, of which the first is at `place` and the next `step` places
// further, with the best so far.
template <class T, class C, class Stride>
void take_larger(const T* __restrict x, std::int32_t place, std::int32_t step, Stride stride,
                 C* __restrict best, std::int32_t* __restrict winner, std::int32_t count) {
  for (std::int32_t n = 0; n < count; ++n) {
    const C candidate = widened(x[n * stride]), before = best[n];
    const std::int32_t winner_before = winner[n];
    // Larger, or the first that is not a number.
    const bool wins = !(candidate <= before) & is_number(before);
    best[n] = wins ? candidate : before;
    winner[n] = wins ? place + n * step : winner_before;
  }
}

template <class T, class Stride>
void add_to(const T* __restrict x, Stride stride, double* __restrict sums, std::int32_t count) {
  for (std::int32_t n = 0; n < count; ++n) {
    sums[n] += static_cast<double>(widened(x[n * stride]));
  }
}

template <class T>
void max_pool(const PoolPlan& plan, const KernelContext& context) {
  using C = decltype(widened(T()));
  const T* const inputs = context.in(0).data<T>();
  T* const values = context.out(0).data<T>();
  std::int64_t* const positions = context.out(1).data<std::int64_t>();
  const auto width = static_cast<std::size_t>(plan.width);
  // Channels of one position are at one place.
  const std::int32_t channels = plan.channels, step = channels == 1 ? plan.stride : 0;
  with_stride(plan.stride, [&](auto stride) {
    plan.for_each_row([&](std::int64_t at, std::int64_t out, std::span<const std::int32_t> rows) {
      const T* const x = inputs + at;
      std::byte* const scratch =
          thread_scratch(whole_cache_lines(width * sizeof(C)) + width * sizeof(std::int32_t));
      C* const best = reinterpret_cast<C*>(scratch);
      auto* const winner =
          reinterpret_cast<std::int32_t*>(scratch + whole_cache_lines(width * sizeof(C)));
      for (std::size_t n = 0; n < width; ++n) {
        const std::int32_t first = rows[0] + plan.leftmost[n];
        winner[n] = first / channels;
        best[n] = widened(x[first]);
      }
      for (const std::int32_t row : rows) {
        for (const Column& column : plan.columns) {
          const std::int32_t first = row + column.position;
          take_larger(x + first, first / channels, step, stride, best + column.first,
                      winner + column.first, static_cast<std::int32_t>(column.last - column.first));
        }
      }
      for (std::int64_t n = 0; n < plan.width; ++n) {
        values[out + n] = convert<T>(best[n]);
        positions[out + n] = winner[n];
      }
    });
  });
}

template <class T>
void avg_pool(const PoolPlan& plan, bool count_padding, const KernelContext& context) {
  const T* const inputs = context.in(0).data<T>();
  T* const means = context.out().data<T>();
  const auto width = static_cast<std::size_t>(plan.width);
  with_stride(plan.stride, [&](auto stride) {
    plan.for_each_row([&](std::int64_t at, std::int64_t out, std::span<const std::int32_t> rows) {
      auto* const sums = reinterpret_cast<double*>(thread_scratch(width * sizeof(double)));
      std::fill_n(sums, width, 0.0);
      for (const std::int32_t row : rows) {
        for (const Column& column : plan.columns) {
          add_to(inputs + at + row + column.position, stride, sums + column.first,
                 static_cast<std::int32_t>(column.last - column.first));
        }
      }
      const auto in_rows = static_cast<std::int32_t>(rows.size());
      for (std::size_t n = 0; n < width; ++n) {
        const double count = count_padding ? plan.window_size : in_rows * plan.in_columns[n];
        means[out + static_cast<std::int64_t>(n)] = convert<T>(sums[n] / count);
      }
    });
  });
}

KernelFunction plan_max_pool(const KernelContext& context) {
  const auto plan = std::make_shared<const PoolPlan>(context);
  return [plan](KernelContext& run) {
    visit_dtype(run.in(0).dtype(), [&](auto zero) { max_pool<decltype(zero)>(*plan, run); });
  };
}

KernelFunction plan_avg_pool(const KernelContext& context) {
  const auto plan = std::make_shared<const PoolPlan>(context);
  return [plan, count_padding = context.attr<bool>("count_padding")](KernelContext& run) {
    visit_dtype(run.in(0).dtype(),
                [&](auto zero) { avg_pool<decltype(zero)>(*plan, count_padding, run); });
  };
}

}  // namespace

void register_pooling(KernelTable& kernels) {
  const auto any = [](Op) { return Support{}; };
  kernels.add(max_pool_def(), {.name = "parallel planes", .supports = any, .plan = plan_max_pool});
  kernels.add(avg_pool_def(), {.name = "parallel planes", .supports = any, .plan = plan_avg_pool});
}

}  // namespace antichain::cpu
