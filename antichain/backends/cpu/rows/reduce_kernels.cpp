#include "antichain/backends/cpu/rows/reduce_kernels.h"

#include <cmath>
#include <memory>

#include "antichain/backends/cpu/rows/fold_stages.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"

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

std::shared_ptr<Reduction> plan_reduction(const KernelContext& context,
                                          const std::vector<bool>& reduced) {
  const Tensor& x = context.in(0);
  return std::make_shared<Reduction>(x.shape(), reduced, size_of(x.dtype()));
}

template <class Axes>
auto fold_once(const FoldLevel& level, const FoldOp& fold, Axes axes) {
  return [=](const KernelContext& context) -> KernelFunction {
    const DType dtype = context.in(0).dtype();
    const FoldStage stage = level.stage(fold.fold, dtype);
    return [=, reduction = plan_reduction(context, axes(context))](KernelContext& run) {
      fold.require_elements(*reduction, run.where);
      if (is_float(dtype)) {
        const auto count = static_cast<double>(reduction->count());
        const auto write = write_to<double>(
            run.out(), [=](double total, double) { return fold.finish(total, count); });
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
    const auto reduction = plan_reduction(context, reduced_axes(context));
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
    return [=, reduction = plan_reduction(context, reduced_axes(context))](KernelContext& run) {
      reduction->run_twice(
          run.in(0).raw(), largest, [](double total) { return total; }, exponentials,
          write_to<double>(run.out(), [](double total, double shift) {
            return std::isinf(shift) ? shift : shift + std::log(total);
          }));
    };
  };
}

void add_reduce_level(KernelTable& kernels, const FoldLevel& level) {
  const auto add = [&](const OpDef& def, auto planned) {
    kernels.add(def, {.name = std::string(name(level.level)) + " reduction",
                      .supports = [level](Op) { return cpu_supports(level.level); },
                      .plan = planned});
  };
  for (const OpDef* def : reduce_family()) {
    if (const auto fold = fold_op(*def)) {
      add(*def, fold_once(level, *fold, reduced_axes));
    }
  }
  add(sum_to_def(), fold_once(level, {Fold::sum}, repeated_axes));
  add(variance_def(), plan_variance(level));
  add(logsumexp_def(), plan_logsumexp(level));
}

}  // namespace

void register_reductions(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    add_reduce_level(kernels, {kLevel, &fold_table<kLevel>()});
  });
}

}  // namespace antichain::cpu
