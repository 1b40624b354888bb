#include "antichain/backends/cpu/rows/norm_gradient_kernels.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "antichain/backends/cpu/convolution/channel_columns.h"
#include "antichain/backends/cpu/simd/norm_gradient_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/normalization_gradients.h"

namespace antichain::cpu {

namespace {

using LoopsOf = const NormGradientLoops& (*)(DType);

constexpr std::int64_t kSoftmaxTask = 1 << 15;  // elements

struct BatchNormPlan {
  std::int64_t samples, channels, inner;  // x is [samples, channels, inner]
  std::int64_t element_bytes;
  double epsilon;
  const NormGradientLoops* loops;
  std::optional<ChannelColumns> columns;  // where they lie side by side: inner is 1
  std::vector<double> shifts, a, b, c;    // per channel: the numbers to change by
  std::vector<double> scale, slopes;      // per channel
  std::vector<double> sums;               // of the gradients, then of the products
  double* grads() { return sums.data(); }
  double* products() { return sums.data() + channels; }
};

void read_statistics(BatchNormPlan& plan, const KernelContext& run) {
  visit_dtype(run.in(2).dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *scale = run.in(2).data<T>(), *mean = run.in(3).data<T>(),
            *variance = run.in(4).data<T>();
    for (std::size_t c = 0; c < plan.scale.size(); ++c) {
      plan.scale[c] = convert<double>(scale[c]);
      plan.slopes[c] = 1 / std::sqrt(convert<double>(variance[c]) + plan.epsilon);
      plan.shifts[c] = convert<double>(mean[c]);
    }
  });
}

// From the sums of a channel to the numbers that make x's gradient
//   scale * slope * (g - sum(g) / count - normalised * sum(g * normalised) / count).
void finish_channel(BatchNormPlan& plan, std::int64_t channel, const GradientSums& sums) {
  const auto c = static_cast<std::size_t>(channel);
  const auto count = static_cast<double>(plan.samples * plan.inner);
  const double slope = plan.slopes[c], factor = plan.scale[c] * slope;
  const double product = sums.product * slope;
  plan.grads()[c] = sums.grad;
  plan.products()[c] = product;
  plan.a[c] = factor;
  plan.b[c] = -factor * slope * product / count;
  plan.c[c] = -factor * sums.grad / count;
}

void channel_by_channel(BatchNormPlan& plan, const std::byte* g, const std::byte* x,
                        std::byte* out) {
  parallel_tasks(plan.channels, [&](std::int64_t channel) {
    const auto c = static_cast<std::size_t>(channel);
    const auto offset = [&](std::int64_t sample) {
      return (sample * plan.channels + channel) * plan.inner * plan.element_bytes;
    };
    GradientSums sums;
    for (std::int64_t n = 0; n < plan.samples; ++n) {
      plan.loops->sum_row(g + offset(n), x + offset(n), plan.inner, plan.shifts[c], sums);
    }
    finish_channel(plan, channel, sums);
    const GradientNumbers numbers{plan.shifts[c], plan.a[c], plan.b[c], plan.c[c]};
    for (std::int64_t n = 0; n < plan.samples; ++n) {
      plan.loops->change_row(g + offset(n), x + offset(n), out + offset(n), plan.inner, numbers);
    }
  });
}

void columns_of_channels(BatchNormPlan& plan, const std::byte* g, const std::byte* x,
                         std::byte* out) {
  plan.columns->sum(*plan.loops, g, x, plan.shifts.data(), plan.sums.data());
  for (std::int64_t c = 0; c < plan.channels; ++c) {
    finish_channel(plan, c, {plan.grads()[c], plan.products()[c]});
  }
  plan.columns->for_each_task([&](const ColumnTask& task) {
    plan.loops->change_columns(g + task.offset, x + task.offset, out + task.offset, task.rows,
                               plan.channels, task.count,
                               {plan.shifts.data() + task.first, plan.a.data() + task.first,
                                plan.b.data() + task.first, plan.c.data() + task.first});
  });
}

KernelFunction plan_batch_norm_gradient(LoopsOf loops, const KernelContext& context) {
  const Tensor& x = context.in(1);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const std::vector<double> empty(static_cast<std::size_t>(split.size));
  const auto plan = std::make_shared<BatchNormPlan>(
      BatchNormPlan{.samples = split.outer,
                    .channels = split.size,
                    .inner = split.inner,
                    .element_bytes = static_cast<std::int64_t>(size_of(x.dtype())),
                    .epsilon = context.attr<double>("epsilon"),
                    .loops = &loops(x.dtype()),
                    .columns = {},
                    .shifts = empty,
                    .a = empty,
                    .b = empty,
                    .c = empty,
                    .scale = empty,
                    .slopes = empty,
                    .sums = std::vector<double>(2 * empty.size())});
  if (split.inner == 1 && x.numel() > 0) {
    plan->columns.emplace(split.outer, split.size, size_of(x.dtype()));
  }
  return [plan](KernelContext& run) {
    read_statistics(*plan, run);
    const auto walk = plan->columns ? columns_of_channels : channel_by_channel;
    walk(*plan, static_cast<const std::byte*>(run.in(0).raw()),
         static_cast<const std::byte*>(run.in(1).raw()), static_cast<std::byte*>(run.out(0).raw()));
    visit_dtype(run.out(1).dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t c = 0; c < plan->channels; ++c) {
        run.out(1).data<T>()[c] = convert<T>(plan->products()[c]);
        run.out(2).data<T>()[c] = convert<T>(plan->grads()[c]);
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
                    std::max<std::int64_t>(1, kSoftmaxTask / std::max(length, std::int64_t{1})),
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
