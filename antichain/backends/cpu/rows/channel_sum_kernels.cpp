#include "antichain/backends/cpu/rows/channel_sum_kernels.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "antichain/backends/cpu/convolution/channel_columns.h"
#include "antichain/backends/cpu/simd/norm_gradient_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cpu {

namespace {

using LoopsOf = const NormGradientLoops& (*)(DType);

// Sums over g and x, packed values [samples, channels, inner].
class ChannelSums {
 public:
  ChannelSums(LoopsOf loops, const KernelContext& context, const Tensor& x)
      : split_(x.shape(), context.axis("axis", x.rank())),
        element_bytes_(static_cast<std::int64_t>(size_of(x.dtype()))),
        loops_(loops(x.dtype())),
        shifts_(static_cast<std::size_t>(split_.size)),
        sums_(2 * shifts_.size()) {
    if (split_.inner == 1 && x.numel() > 0) {
      columns_.emplace(split_.outer, split_.size, size_of(x.dtype()));
    }
  }

  // Adds up g and g * (x - shift), by the shifts as they are now.
  void run(const Tensor& g, const Tensor& x) {
    if (columns_) {
      columns_->sum(loops_, g.raw(), x.raw(), shifts_.data(), sums_.data());
      return;
    }
    const auto *gs = static_cast<const std::byte*>(g.raw()),
               *xs = static_cast<const std::byte*>(x.raw());
    parallel_tasks(split_.size, [&](std::int64_t channel) {
      const auto c = static_cast<std::size_t>(channel);
      GradientSums sums;
      for (std::int64_t n = 0; n < split_.outer; ++n) {
        const std::int64_t at = (n * split_.size + channel) * split_.inner * element_bytes_;
        loops_.sum_row(gs + at, xs + at, split_.inner, shifts_[c], sums);
      }
      sums_[c] = sums.grad;
      sums_[c + shifts_.size()] = sums.product;
    });
  }

  std::vector<double>& shifts() { return shifts_; }  // per channel
  double grad(std::size_t c) const { return sums_[c]; }
  double product(std::size_t c) const { return sums_[c + shifts_.size()]; }
  std::int64_t count() const { return split_.outer * split_.inner; }  // elements of a channel
  std::int64_t inner() const { return split_.inner; }

 private:
  AxisSplit split_;
  std::int64_t element_bytes_;
  const NormGradientLoops& loops_;
  std::optional<ChannelColumns> columns_;  // where they lie side by side
  std::vector<double> shifts_, sums_;      // sums of g, then of the products
};

// Sets every number of an output.
template <class F>
void put(const Tensor& output, F f) {
  visit_dtype(output.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t c = 0; c < output.numel(); ++c) {
      output.data<T>()[c] = convert<T>(f(static_cast<std::size_t>(c)));
    }
  });
}

// Shifted by an element of the channel and in double, squares of distances lose nothing that floats
// could show.
KernelFunction plan_moments(LoopsOf loops, const KernelContext& context) {
  const auto sums = std::make_shared<ChannelSums>(loops, context, context.in(0));
  return [sums](KernelContext& run) {
    const Tensor& x = run.in(0);
    const auto count = static_cast<double>(std::max<std::int64_t>(sums->count(), 1));
    if (sums->count() > 0) {
      visit_dtype(x.dtype(), [&](auto zero) {
        const auto* elements = x.data<decltype(zero)>();
        for (std::size_t c = 0; c < sums->shifts().size(); ++c) {
          sums->shifts()[c] =
              convert<double>(elements[static_cast<std::int64_t>(c) * sums->inner()]);
        }
      });
    }
    sums->run(x, x);
    put(run.out(0), [&](std::size_t c) { return sums->grad(c) / count; });
    put(run.out(1), [&](std::size_t c) {
      // sum((x - s)^2) = sum(x (x - s)) - s sum(x - s)
      const double shift = sums->shifts()[c], distance = sums->grad(c) / count - shift;
      const double squares = sums->product(c) / count - shift * distance;
      const double variance = squares - distance * distance;
      return variance < 0 ? 0 : variance;
    });
  };
}

KernelFunction plan_gradient_sums(LoopsOf loops, const KernelContext& context) {
  const auto sums = std::make_shared<ChannelSums>(loops, context, context.in(1));
  return [sums](KernelContext& run) {
    const auto read = [](const Tensor& from, std::vector<double>& to) {
      visit_dtype(from.dtype(), [&](auto zero) {
        std::ranges::transform(std::span(from.data<decltype(zero)>(), to.size()), to.begin(),
                               [](auto value) { return convert<double>(value); });
      });
    };
    std::vector<double> slopes(sums->shifts().size());
    read(run.in(2), sums->shifts());
    read(run.in(3), slopes);
    sums->run(run.in(0), run.in(1));
    put(run.out(0), [&](std::size_t c) { return sums->grad(c); });
    put(run.out(1), [&](std::size_t c) { return sums->product(c) * slopes[c]; });
  };
}

}  // namespace

void register_channel_sums(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const auto add = [&](const OpDef& def, auto plan, auto supports) {
      kernels.add(def, {.name = std::string(name(kLevel)) + " sums of channels",
                        .supports = supports,
                        .plan = [plan](const KernelContext& context) {
                          return plan(norm_gradient_loops<kLevel>, context);
                        }});
    };
    add(channel_moments_def(), plan_moments, [](Op op) {
      return op.input(0).dtype() == f64 ? Support::no("doubles need sums of more digits")
                                        : cpu_supports(kLevel);
    });
    add(channel_gradient_sums_def(), plan_gradient_sums, [](Op) { return cpu_supports(kLevel); });
  });
}

}  // namespace antichain::cpu
