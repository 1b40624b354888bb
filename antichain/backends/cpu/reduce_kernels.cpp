#include "antichain/backends/cpu/reduce_kernels.h"

#include <cmath>
#include <memory>

#include "antichain/backends/cpu/fold_stages.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"

namespace antichain::cpu {

namespace {

std::vector<bool> reduced_axes(const KernelContext& context) {
  const auto rank = static_cast<std::size_t>(context.in(0).rank());
  const Ints& axes = context.attr<Ints>("axes");
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t axis : axes) {
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  return reduced;
}

// The axes that broadcasting repeats.
std::vector<bool> repeated_axes(const KernelContext& context) {
  const Shape &from = context.in(0).shape(), &to = context.out().shape();
  const std::size_t added = from.size() - to.size();
  std::vector<bool> reduced(from.size(), true);
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    reduced[axis + added] = to[axis] == 1;
  }
  return reduced;
}

// Writes totals, after `change`, to a packed output.
template <class Total, class Change>
auto write_to(const Tensor& out, Change change) {
  return [&out, change](std::int64_t first, std::int64_t count, const Total* totals,
                        const double* shifts) {
    visit_dtype(out.dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* target = out.data<T>() + first;
      for (std::int64_t i = 0; i < count; ++i) {
        target[i] = convert<T>(change(totals[i], shifts ? shifts[i] : 0));
      }
    });
  };
}

std::shared_ptr<Reduction> plan(const KernelContext& context, const std::vector<bool>& reduced) {
  const Tensor& x = context.in(0);
  return std::make_shared<Reduction>(x.shape(), reduced, size_of(x.dtype()));
}

// One walk; `finish` gets the total and the number of elements.
template <class Axes>
auto fold_once(const FoldLevel& level, Fold fold, Axes axes, double (*finish)(double, double)) {
  return [=](const KernelContext& context) -> KernelFunction {
    const DType dtype = context.in(0).dtype();
    const FoldStage stage = level.stage(fold, dtype);
    const bool chooses = fold == Fold::smallest || fold == Fold::largest;
    return [=, reduction = plan(context, axes(context))](KernelContext& run) {
      require<ShapeError>(!chooses || reduction->outputs() == 0 || reduction->count() > 0,
                          "{}: there is no element to choose from", run.where);
      if (is_float(dtype)) {
        const auto count = static_cast<double>(reduction->count());
        const auto write =
            write_to<double>(run.out(), [=](double total, double) { return finish(total, count); });
        reduction->run(run.in(0).raw(), stage, Finish<double>(write));
      } else {
        const auto write =
            write_to<std::int64_t>(run.out(), [](std::int64_t total, double) { return total; });
        reduction->run(run.in(0).raw(), stage, Finish<std::int64_t>(write));
      }
    };
  };
}

auto plan_variance(const FoldLevel& level) {
  return [level](const KernelContext& context) -> KernelFunction {
    const DType dtype = context.in(0).dtype();
    const FoldStage sum = level.stage(Fold::sum, dtype),
                    squares = level.stage(Fold::squares, dtype);
    const auto reduction = plan(context, reduced_axes(context));
    const auto count = static_cast<double>(reduction->count());
    const double divisor = count - static_cast<double>(context.attr<std::int64_t>("correction"));
    return [=](KernelContext& run) {
      reduction->run_twice(
          run.in(0).raw(), sum, [=](double total) { return total / count; }, squares,
          write_to<double>(run.out(), [=](double total, double) { return total / divisor; }));
    };
  };
}

auto plan_logsumexp(const FoldLevel& level) {
  return [level](const KernelContext& context) -> KernelFunction {
    const DType dtype = context.in(0).dtype();
    const FoldStage largest = level.stage(Fold::largest, dtype);
    const FoldStage exponentials = level.stage(Fold::exponentials, dtype);
    return [=, reduction = plan(context, reduced_axes(context))](KernelContext& run) {
      reduction->run_twice(
          run.in(0).raw(), largest, [](double total) { return total; }, exponentials,
          write_to<double>(run.out(), [](double total, double shift) {
            return std::isinf(shift) ? shift : shift + std::log(total);
          }));
    };
  };
}

void add_level(KernelTable& kernels, const FoldLevel& level) {
  const auto add = [&](const OpDef& def, auto planned) {
    kernels.add(def, {.name = std::string(name(level.level)) + " reduction",
                      .supports = [level](Op) { return cpu_supports(level.level); },
                      .plan = planned});
  };
  const auto total = [](double value, double) { return value; };
  add(sum_def(), fold_once(level, Fold::sum, reduced_axes, total));
  add(sum_to_def(), fold_once(level, Fold::sum, repeated_axes, total));
  add(prod_def(), fold_once(level, Fold::product, reduced_axes, total));
  add(reduce_min_def(), fold_once(level, Fold::smallest, reduced_axes, total));
  add(reduce_max_def(), fold_once(level, Fold::largest, reduced_axes, total));
  add(mean_def(), fold_once(level, Fold::sum, reduced_axes,
                            [](double value, double count) { return value / count; }));
  add(variance_def(), plan_variance(level));
  add(logsumexp_def(), plan_logsumexp(level));
}

}  // namespace

void register_reductions(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    add_level(kernels, {kLevel, &fold_table<kLevel>()});
  });
}

}  // namespace antichain::cpu
