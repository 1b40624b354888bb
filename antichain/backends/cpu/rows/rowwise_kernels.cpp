#include "antichain/backends/cpu/rows/rowwise_kernels.h"

#include <cmath>
#include <memory>
#include <optional>

#include "antichain/backends/cpu/convolution/channel_columns.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/backends/cpu/rows/fold_stages.h"
#include "antichain/backends/cpu/rows/normalizer.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/normalization.h"

namespace antichain::cpu {

namespace {

// What the kernels of one level are made of.
struct RowLevel : FoldLevel {
  const ApplyLoops& (*loops)(DType dtype);
  const NormGradientLoops& (*sums)(DType dtype);
};

std::vector<bool> only_axis(int rank, int axis) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank));
  reduced[static_cast<std::size_t>(axis)] = true;
  return reduced;
}

std::shared_ptr<Normalizer> normalizer(const KernelContext& context,
                                       const std::vector<bool>& reduced) {
  const Tensor& x = context.in(0);
  return std::make_shared<Normalizer>(x.shape(), reduced, size_of(x.dtype()));
}

// The elements of a small input as doubles.
void read_doubles(const Tensor& from, std::vector<double>& to) {
  visit_dtype(from.dtype(), [&](auto zero) {
    const auto* values = from.data<decltype(zero)>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = convert<double>(values[i]);
    }
  });
}

constexpr auto same = [](double total) { return total; };

// Rows that are short enough are done one by one.
std::optional<KernelFunction> plan_softmax_of_rows(const std::shared_ptr<Normalizer>& lines,
                                                   SoftmaxLoop loop, std::size_t element_bytes) {
  const Reduction& reduction = lines->reduction();
  if (reduction.by_columns() || reduction.in_chunks() || reduction.count() > kLongestSoftmax) {
    return {};
  }
  return [=](KernelContext& run) {
    const auto* from = static_cast<const std::byte*>(run.in(0).raw());
    auto* to = static_cast<std::byte*>(run.out().raw());
    lines->reduction().parallel_matrices([=](const ReductionMatrix& rows) {
      const std::int64_t at = rows.offset * static_cast<std::int64_t>(element_bytes);
      loop(from + at, to + at, rows.rows, rows.stride, rows.columns);
    });
  };
}

auto plan_softmax(const RowLevel& level, bool logarithm) {
  return [=](const KernelContext& context) -> KernelFunction {
    const Tensor& x = context.in(0);
    const auto lines = normalizer(context, only_axis(x.rank(), context.axis("axis", x.rank())));
    if (!logarithm) {
      if (auto rows =
              plan_softmax_of_rows(lines, level.loops(x.dtype()).softmax, size_of(x.dtype()))) {
        return *rows;
      }
    }
    const FoldStage largest = level.stage(Fold::largest, x.dtype());
    const FoldStage exponentials = level.stage(Fold::exponentials, x.dtype());
    const ApplyLoops& all = level.loops(x.dtype());
    const ChangeLoops loops = logarithm
                                  ? ChangeLoops{all.affine_by_row, all.affine_by_column}
                                  : ChangeLoops{all.exponential_by_row, all.exponential_by_column};
    const auto numbers = [logarithm](std::int64_t, std::int64_t count, const double* totals,
                                     const double* shifts, const ChangeNumbers& to) {
      for (std::int64_t i = 0; i < count; ++i) {
        to.a[i] = logarithm ? shifts[i] + std::log(totals[i]) : shifts[i];
        to.b[i] = logarithm ? 1 : 1 / totals[i];
        to.c[i] = 0;
      }
    };
    return [=](KernelContext& run) {
      lines->run(run.in(0).raw(), run.out().raw(), largest, same, exponentials, numbers, loops);
    };
  };
}

auto plan_cross_entropy(const RowLevel& level) {
  return [=](const KernelContext& context) -> KernelFunction {
    const Tensor& x = context.in(0);
    const FoldStage largest = level.stage(Fold::largest, x.dtype());
    const FoldStage exponentials = level.stage(Fold::exponentials, x.dtype());
    const std::int64_t classes = x.shape().back();
    const auto rows = std::make_shared<Reduction>(x.shape(), only_axis(x.rank(), x.rank() - 1),
                                                  size_of(x.dtype()));
    return [=](KernelContext& run) {
      visit_indices(run.in(1), [&](const auto* labels) {
        for (std::int64_t row = 0; row < run.in(1).numel(); ++row) {
          require<DataError>(labels[row] >= 0 && labels[row] < classes,
                             "{}: label {} is outside the {} classes", run.where, labels[row],
                             classes);
        }
        visit_dtype(run.out().dtype(), [&](auto zero) {
          using T = decltype(zero);
          const T* logits = run.in(0).data<T>();
          T* out = run.out().data<T>();
          rows->run_twice(
              logits, largest, same, exponentials,
              [&](std::int64_t first, std::int64_t count, const double* totals,
                  const double* shifts) {
                for (std::int64_t i = 0; i < count; ++i) {
                  const std::int64_t row = first + i;
                  const T chosen = logits[row * classes + labels[row]];
                  out[row] = convert<T>(shifts[i] + std::log(totals[i]) - convert<double>(chosen));
                }
              });
        });
      });
    };
  };
}

auto plan_layer_norm(const RowLevel& level) {
  return [=](const KernelContext& context) -> KernelFunction {
    const Tensor& x = context.in(0);
    const FoldStage sum = level.stage(Fold::sum, x.dtype());
    const FoldStage squares = level.stage(Fold::squares, x.dtype());
    const ApplyLoops& all = level.loops(x.dtype());
    const double epsilon = context.attr<double>("epsilon");
    std::vector<bool> reduced(static_cast<std::size_t>(x.rank()));
    std::fill(reduced.end() - context.attr<std::int64_t>("axes"), reduced.end(), true);
    const auto rows = normalizer(context, reduced);
    const auto length = static_cast<std::size_t>(rows->reduction().count());
    const auto scale = std::make_shared<std::vector<double>>(length);
    const auto bias = std::make_shared<std::vector<double>>(length);
    const ChangeLoops loops{all.normalize_by_row, all.affine_by_column};
    return [=](KernelContext& run) {
      if (run.out().numel() == 0) {
        return;
      }
      read_doubles(run.in(1), *scale);
      read_doubles(run.in(2), *bias);
      const auto count = static_cast<double>(length);
      // A single element per row is not a row: its scale and bias are the same for all.
      const bool single = rows->reduction().by_columns();
      const auto numbers = [=](std::int64_t, std::int64_t outputs, const double* totals,
                               const double* shifts, const ChangeNumbers& to) {
        for (std::int64_t i = 0; i < outputs; ++i) {
          to.a[i] = shifts[i];
          to.b[i] = 1 / std::sqrt(totals[i] / count + epsilon) * (single ? scale->front() : 1);
          to.c[i] = single ? bias->front() : 0;
        }
      };
      rows->run(
          run.in(0).raw(), run.out().raw(), sum, [=](double total) { return total / count; },
          squares, numbers, loops, scale->data(), bias->data());
    };
  };
}

std::vector<bool> all_but_channels(const KernelContext& context) {
  const int rank = context.in(0).rank();
  std::vector<bool> reduced(static_cast<std::size_t>(rank), true);
  reduced[static_cast<std::size_t>(context.axis("axis", rank))] = false;
  return reduced;
}

// Batch norm of channels that lie side by side, in two walks: the statistics come from one. Shifted
// by the first row and in double, squares of distances lose nothing that floats could show.
class ColumnBatchNorm {
 public:
  ColumnBatchNorm(const RowLevel& level, const KernelContext& context, std::int64_t rows,
                  std::shared_ptr<Normalizer> channels)
      : columns_(rows, context.in(1).numel(), size_of(context.in(0).dtype())),
        sum_loops_(level.sums(context.in(0).dtype())),
        loops_{level.loops(context.in(0).dtype()).affine_by_row,
               level.loops(context.in(0).dtype()).affine_by_column},
        normalizer_(std::move(channels)),
        epsilon_(context.attr<double>("epsilon")),
        scale_(static_cast<std::size_t>(columns_.channels())),
        bias_(scale_.size()),
        shifts_(scale_.size()),
        sums_(2 * scale_.size()) {}

  void run(KernelContext& run) {
    read_doubles(run.in(1), scale_);
    read_doubles(run.in(2), bias_);
    read_doubles(run.in(0), shifts_);
    columns_.sum(sum_loops_, run.in(0).raw(), run.in(0).raw(), shifts_.data(), sums_.data());
    const auto count = static_cast<double>(columns_.rows());
    visit_dtype(run.out(1).dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t c = 0; c < scale_.size(); ++c) {
        const double mean = sums_[c] / count, distance = mean - shifts_[c];
        // sum((x - s)^2) = sum(x (x - s)) - s sum(x - s)
        const double squares = sums_[scale_.size() + c] / count - shifts_[c] * distance;
        const double difference = squares - distance * distance;
        const double variance = difference < 0 ? 0 : difference;
        run.out(1).data<T>()[c] = convert<T>(mean);
        run.out(2).data<T>()[c] = convert<T>(variance);
        shifts_[c] = mean;
        scale_[c] /= std::sqrt(variance + epsilon_);
      }
    });
    normalizer_->change(run.in(0).raw(), run.out().raw(),
                        {shifts_.data(), scale_.data(), bias_.data()}, loops_);
  }

 private:
  ChannelColumns columns_;
  const NormGradientLoops& sum_loops_;
  ChangeLoops loops_;
  std::shared_ptr<Normalizer> normalizer_;
  double epsilon_;
  std::vector<double> scale_, bias_, shifts_, sums_;
};

auto plan_batch_norm(const RowLevel& level) {
  return [=](const KernelContext& context) -> KernelFunction {
    const DType dtype = context.in(0).dtype();
    const FoldStage sum = level.stage(Fold::sum, dtype),
                    squares = level.stage(Fold::squares, dtype);
    const ApplyLoops& all = level.loops(dtype);
    const ChangeLoops loops{all.affine_by_row, all.affine_by_column};
    const double epsilon = context.attr<double>("epsilon");
    const auto channels = normalizer(context, all_but_channels(context));
    const Tensor& x = context.in(0);
    if (dtype != f64 && x.numel() > 0 &&
        AxisSplit(x.shape(), context.axis("axis", x.rank())).inner == 1) {
      const std::int64_t rows = channels->reduction().count();
      const auto norm = std::make_shared<ColumnBatchNorm>(level, context, rows, channels);
      return [norm](KernelContext& run) { norm->run(run); };
    }
    const auto size = static_cast<std::size_t>(channels->reduction().outputs());
    const auto scale = std::make_shared<std::vector<double>>(size);
    const auto bias = std::make_shared<std::vector<double>>(size);
    return [=](KernelContext& run) {
      read_doubles(run.in(1), *scale);
      read_doubles(run.in(2), *bias);
      // The statistics of nothing are 0.
      const double count = std::max(static_cast<double>(channels->reduction().count()), 1.0);
      visit_dtype(run.out(1).dtype(), [&](auto zero) {
        using T = decltype(zero);
        T *means = run.out(1).data<T>(), *variances = run.out(2).data<T>();
        const auto numbers = [&](std::int64_t first, std::int64_t outputs, const double* totals,
                                 const double* shifts, const ChangeNumbers& to) {
          for (std::int64_t i = 0; i < outputs; ++i) {
            const auto channel = static_cast<std::size_t>(first + i);
            const double variance = totals[i] / count;
            means[channel] = convert<T>(shifts[i]);
            variances[channel] = convert<T>(variance);
            to.a[i] = shifts[i];
            to.b[i] = (*scale)[channel] / std::sqrt(variance + epsilon);
            to.c[i] = (*bias)[channel];
          }
        };
        channels->run(
            run.in(0).raw(), run.out().raw(), sum, [=](double total) { return total / count; },
            squares, numbers, loops);
      });
    };
  };
}

auto plan_batch_norm_inference(const RowLevel& level) {
  return [=](const KernelContext& context) -> KernelFunction {
    const ApplyLoops& all = level.loops(context.in(0).dtype());
    const ChangeLoops loops{all.affine_by_row, all.affine_by_column};
    const double epsilon = context.attr<double>("epsilon");
    const auto channels = normalizer(context, all_but_channels(context));
    const auto size = static_cast<std::size_t>(context.in(1).numel());
    struct Inputs {
      std::vector<double> scale, bias, mean, variance;
    };
    const std::vector<double> empty(size);
    const auto inputs = std::make_shared<Inputs>(Inputs{empty, empty, empty, empty});
    return [=](KernelContext& run) {
      read_doubles(run.in(1), inputs->scale);
      read_doubles(run.in(2), inputs->bias);
      read_doubles(run.in(3), inputs->mean);
      read_doubles(run.in(4), inputs->variance);
      for (std::size_t i = 0; i < size; ++i) {
        inputs->scale[i] /= std::sqrt(inputs->variance[i] + epsilon);
      }
      channels->change(run.in(0).raw(), run.out().raw(),
                       {inputs->mean.data(), inputs->scale.data(), inputs->bias.data()}, loops);
    };
  };
}

void add_row_level(KernelTable& kernels, const RowLevel& level) {
  const std::vector<const OpDef*> family = normalization_family();
  const auto add = [&](std::string_view op, auto plan, bool in_place = true) {
    const auto def = std::find_if(family.begin(), family.end(),
                                  [op](const OpDef* each) { return each->name == op; });
    ensure(def != family.end(), "there is no operator {}", op);
    kernels.add(**def, {.name = std::string(name(level.level)) + " rows",
                        .supports = [level](Op) { return cpu_supports(level.level); },
                        .plan = plan,
                        .in_place = in_place});
  };
  add("softmax", plan_softmax(level, false));
  add("log_softmax", plan_softmax(level, true));
  add("cross_entropy", plan_cross_entropy(level), false);
  add("layer_norm", plan_layer_norm(level));
  add("batch_norm", plan_batch_norm(level));
  add("batch_norm_inference", plan_batch_norm_inference(level));
}

}  // namespace

void register_rowwise(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    add_row_level(
        kernels,
        {{kLevel, &fold_table<kLevel>()}, apply_loops<kLevel>, norm_gradient_loops<kLevel>});
  });
}

}  // namespace antichain::cpu
