#include "antichain/backends/cpu/pooling_kernels.h"

#include <limits>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/parallel.h"
#include "antichain/ops/pooling.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kGrain = 1 << 15;  // elements under windows, per range of planes

// Which elements of a plane each window covers, padding left out, in row-major order. All planes
// share it.
struct PoolPlan {
  std::int64_t planes, input_size, output_size;
  double window_size;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> ends;  // of each window's part of `positions`

  explicit PoolPlan(const KernelContext& context) {
    const Tensor &x = context.in(0), &out = context.out();
    const Windows windows{spatial_axes(x.shape()), context.attr<Ints>("window"),
                          spatial_axes(out.shape()), WindowSteps::of(*context.attrs)};
    planes = x.shape()[0] * x.shape()[1];
    input_size = numel(windows.input);
    output_size = numel(windows.output);
    const std::int64_t elements = numel(windows.window);
    window_size = static_cast<double>(elements);
    require<NotSupported>(
        std::max(input_size, output_size * elements) <= std::numeric_limits<std::int32_t>::max(),
        "{}: {} windows of {} elements in one channel are too many", context.where, output_size,
        elements);
    for (std::int64_t output = 0; output < output_size; ++output) {
      for (std::int64_t element = 0; element < elements; ++element) {
        if (const std::int64_t input = windows.input_position(output, element); input >= 0) {
          positions.push_back(static_cast<std::int32_t>(input));
        }
      }
      ends.push_back(static_cast<std::int32_t>(positions.size()));
    }
  }

  // Calls f(plane, output, first, last) for every window of every plane.
  template <class F>
  void for_each_window(F&& f) const {
    const std::int64_t under_windows = std::max<std::int64_t>(std::ssize(positions), 1);
    const std::int64_t grain = std::max<std::int64_t>(kGrain / under_windows, 1);
    parallel_ranges(planes, grain, [&](std::int64_t first_plane, std::int64_t last_plane) {
      for (std::int64_t plane = first_plane; plane < last_plane; ++plane) {
        const std::int32_t* first = positions.data();
        for (std::int64_t output = 0; output < output_size; ++output) {
          const std::int32_t* const last =
              positions.data() + ends[static_cast<std::size_t>(output)];
          f(plane, output, first, last);
          first = last;
        }
      }
    });
  }
};

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
void max_pool(const PoolPlan& plan, const KernelContext& context) {
  const T* const x = context.in(0).data<T>();
  T* const values = context.out(0).data<T>();
  std::int64_t* const winners = context.out(1).data<std::int64_t>();
  plan.for_each_window([&](std::int64_t plane, std::int64_t output, const std::int32_t* first,
                           const std::int32_t* last) {
    const T* const elements = x + plane * plan.input_size;
    std::int32_t winner = *first;
    auto best = widened(elements[winner]);
    while (++first < last) {
      const auto candidate = widened(elements[*first]);
      // Larger, or the first that is not a number.
      const bool wins = candidate > best || (candidate != candidate && best == best);
      winner = wins ? *first : winner;
      best = wins ? candidate : best;
    }
    values[plane * plan.output_size + output] = elements[winner];
    winners[plane * plan.output_size + output] = winner;
  });
}

template <class T>
void avg_pool(const PoolPlan& plan, bool count_padding, const KernelContext& context) {
  const T* const x = context.in(0).data<T>();
  T* const means = context.out().data<T>();
  plan.for_each_window([&](std::int64_t plane, std::int64_t output, const std::int32_t* first,
                           const std::int32_t* last) {
    const T* const elements = x + plane * plan.input_size;
    const double count = count_padding ? plan.window_size : static_cast<double>(last - first);
    double sum = 0;
    for (; first < last; ++first) {
      sum += static_cast<double>(widened(elements[*first]));
    }
    means[plane * plan.output_size + output] = convert<T>(sum / count);
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
