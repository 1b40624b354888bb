#include "antichain/backends/cpu/norm_gradient_kernels.h"

#include <cmath>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/parallel.h"
#include "antichain/backends/cpu/simd/norm_gradient_loops.h"
#include "antichain/ops/normalization_gradients.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cpu {

namespace {

using LoopsOf = const NormGradientLoops& (*)(DType);

constexpr std::int64_t kTaskElements = 1 << 15;
// Channels of a task, where they lie beside each other: whole cache lines of every row.
constexpr std::int64_t kColumns = 64;

struct BatchNormPlan {
  std::int64_t samples, channels, inner;  // x is [samples, channels, inner]
  std::int64_t element_bytes;
  double epsilon;
  const NormGradientLoops* loops;
  std::vector<GradientNumbers> numbers;  // per channel
  std::vector<double> scale, slopes;
  std::vector<GradientSums> sums;
};

void read_statistics(BatchNormPlan& plan, const KernelContext& run) {
  visit_dtype(run.in(2).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *scale = run.in(2).data<T>(), *mean = run.in(3).data<T>(),
            *variance = run.in(4).data<T>();
    for (std::size_t c = 0; c < plan.scale.size(); ++c) {
      plan.scale[c] = convert<double>(scale[c]);
      plan.slopes[c] = 1 / std::sqrt(convert<double>(variance[c]) + plan.epsilon);
      plan.numbers[c] = {.shift = convert<double>(mean[c])};
      plan.sums[c] = {};
    }
  });
}

// From the sums of a channel to the numbers that make x's gradient
//   scale * slope * (g - sum(g) / count - normalised * sum(g * normalised) / count).
void finish_channel(BatchNormPlan& plan, std::size_t c) {
  const auto count = static_cast<double>(plan.samples * plan.inner);
  const double slope = plan.slopes[c], factor = plan.scale[c] * slope;
  plan.sums[c].product *= slope;
  plan.numbers[c].a = factor;
  plan.numbers[c].b = -factor * slope * plan.sums[c].product / count;
  plan.numbers[c].c = -factor * plan.sums[c].grad / count;
}

void channel_by_channel(BatchNormPlan& plan, const std::byte* g, const std::byte* x,
                        std::byte* out) {
  parallel_tasks(plan.channels, [&](std::int64_t channel) {
    const auto c = static_cast<std::size_t>(channel);
    const auto offset = [&](std::int64_t sample) {
      return (sample * plan.channels + channel) * plan.inner * plan.element_bytes;
    };
    for (std::int64_t n = 0; n < plan.samples; ++n) {
      plan.loops->sum_row(g + offset(n), x + offset(n), plan.inner, plan.numbers[c].shift,
                          plan.sums[c]);
    }
    finish_channel(plan, c);
    for (std::int64_t n = 0; n < plan.samples; ++n) {
      plan.loops->change_row(g + offset(n), x + offset(n), out + offset(n), plan.inner,
                             plan.numbers[c]);
    }
  });
}

void columns_of_channels(BatchNormPlan& plan, const std::byte* g, const std::byte* x,
                         std::byte* out) {
  parallel_ranges(plan.channels, kColumns, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t offset = first * plan.element_bytes;
    plan.loops->sum_columns(g + offset, x + offset, plan.samples, plan.channels, last - first,
                            plan.numbers.data() + first, plan.sums.data() + first);
    for (std::int64_t channel = first; channel < last; ++channel) {
      finish_channel(plan, static_cast<std::size_t>(channel));
    }
    plan.loops->change_columns(g + offset, x + offset, out + offset, plan.samples, plan.channels,
                               last - first, plan.numbers.data() + first);
  });
}

KernelFunction plan_batch_norm_gradient(LoopsOf loops, const KernelContext& context) {
  const Tensor& x = context.in(1);
  const AxisSplit split(x.shape(), 1);
  const auto size = static_cast<std::size_t>(split.size);
  const auto plan = std::make_shared<BatchNormPlan>(
      BatchNormPlan{.samples = split.outer,
                    .channels = split.size,
                    .inner = split.inner,
                    .element_bytes = static_cast<std::int64_t>(size_of(x.dtype())),
                    .epsilon = context.attr<double>("epsilon"),
                    .loops = &loops(x.dtype()),
                    .numbers = std::vector<GradientNumbers>(size),
                    .scale = std::vector<double>(size),
                    .slopes = std::vector<double>(size),
                    .sums = std::vector<GradientSums>(size)});
  return [plan](KernelContext& run) {
    read_statistics(*plan, run);
    const auto walk = plan->inner == 1 ? columns_of_channels : channel_by_channel;
    walk(*plan, static_cast<const std::byte*>(run.in(0).raw()),
         static_cast<const std::byte*>(run.in(1).raw()), static_cast<std::byte*>(run.out(0).raw()));
    visit_dtype(run.out(1).dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t c = 0; c < plan->sums.size(); ++c) {
        run.out(1).data<T>()[c] = convert<T>(plan->sums[c].product);
        run.out(2).data<T>()[c] = convert<T>(plan->sums[c].grad);
      }
    });
  };
}

KernelFunction plan_softmax_gradient(LoopsOf loops, const KernelContext& context) {
  const Tensor& y = context.in(1);
  const std::int64_t length = y.shape().back();
  const std::int64_t rows = length == 0 ? 0 : y.numel() / length;
  const std::int64_t row_bytes = length * static_cast<std::int64_t>(size_of(y.dtype()));
  const auto run_rows = loops(y.dtype()).softmax_rows;
  return [=](KernelContext& run) {
    const auto *g = static_cast<const std::byte*>(run.in(0).raw()),
               *from = static_cast<const std::byte*>(run.in(1).raw());
    auto* to = static_cast<std::byte*>(run.out().raw());
    parallel_ranges(rows,
                    std::max<std::int64_t>(1, kTaskElements / std::max(length, std::int64_t{1})),
                    [&](std::int64_t first, std::int64_t last) {
                      const std::int64_t at = first * row_bytes;
                      run_rows(g + at, from + at, to + at, last - first, length);
                    });
  };
}

}  // namespace

void register_norm_gradients(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const auto add = [&](const OpDef& def, auto plan) {
      kernels.add(def, {.name = std::string(name(kLevel)) + " rows",
                        .supports = [](Op) { return cpu_supports(kLevel); },
                        .plan =
                            [plan](const KernelContext& context) {
                              return plan(norm_gradient_loops<kLevel>, context);
                            },
                        .in_place = true});
    };
    add(batch_norm_gradient_def(), plan_batch_norm_gradient);
    add(softmax_gradient_def(), plan_softmax_gradient);
  });
}

}  // namespace antichain::cpu
