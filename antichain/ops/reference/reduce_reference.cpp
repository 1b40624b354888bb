#include "antichain/ops/reference/reduce_reference.h"

#include <algorithm>
#include <numeric>

#include "antichain/ops/reference/compute.h"

namespace antichain {

bool is_reduced(const Attrs& attrs, std::size_t axis) {
  const Ints& axes = attrs.get<Ints>("axes");
  return axes.empty() ||
         std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

namespace {

// Calls f(output position, value) for every element in row-major order.
template <class C, class F>
void for_each_reduced(KernelContext& context, F f) {
  const Tensor &x = context.in(0), &out = context.out();
  Shape kept = x.shape();
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    kept[axis] = is_reduced(*context.attrs, axis) ? 1 : kept[axis];
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(out.numel()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto target = load<std::int64_t>(Tensor::of(kept, numbers).broadcast_to(x.shape()));
  const std::vector<C> values = load<C>(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    f(static_cast<std::size_t>(target[i]), values[i]);
  }
}

// Folds the reduced elements with `combine`, starting from `start`.
template <class Combine>
void fold_reduced(KernelContext& context, double start, Combine combine) {
  visit_compute(context.out().dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> totals(static_cast<std::size_t>(context.out().numel()), static_cast<C>(start));
    for_each_reduced<C>(context,
                        [&](std::size_t i, C value) { totals[i] = combine(totals[i], value); });
    store(totals, context.out());
  });
}

// The smallest or largest element; NaN wins; an empty choice is the user's mistake.
template <class Better>
void choose_reduced(KernelContext& context, Better better) {
  visit_compute(context.out().dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> best(static_cast<std::size_t>(context.out().numel()));
    std::vector<bool> seen(best.size());
    for_each_reduced<C>(context, [&](std::size_t i, C value) {
      if (!seen[i] || (best[i] == best[i] && (value != value || better(value, best[i])))) {
        best[i] = value;
      }
      seen[i] = true;
    });
    require<ShapeError>(std::find(seen.begin(), seen.end(), false) == seen.end(),
                        "{}: there is no element to choose from", context.where);
    store(best, context.out());
  });
}

}  // namespace

void sum_reference(KernelContext& context) {
  fold_reduced(context, 0, [](auto a, auto b) { return a + b; });
}

void prod_reference(KernelContext& context) {
  fold_reduced(context, 1, [](auto a, auto b) { return a * b; });
}

void min_reference(KernelContext& context) {
  choose_reduced(context, [](auto a, auto b) { return a < b; });
}

void max_reference(KernelContext& context) {
  choose_reduced(context, [](auto a, auto b) { return a > b; });
}

void mean_reference(KernelContext& context) {
  const std::size_t size = static_cast<std::size_t>(context.out().numel());
  std::vector<double> totals(size), counts(size);
  for_each_reduced<double>(context, [&](std::size_t i, double value) {
    totals[i] += value;
    counts[i] += 1;
  });
  for (std::size_t i = 0; i < size; ++i) {
    totals[i] /= counts[i];
  }
  store(totals, context.out());
}

void variance_reference(KernelContext& context) {
  const std::size_t size = static_cast<std::size_t>(context.out().numel());
  std::vector<double> means(size), totals(size), counts(size);
  for_each_reduced<double>(context, [&](std::size_t i, double value) {
    means[i] += value;
    counts[i] += 1;
  });
  for (std::size_t i = 0; i < size; ++i) {
    means[i] /= counts[i];
  }
  for_each_reduced<double>(context, [&](std::size_t i, double value) {
    totals[i] += (value - means[i]) * (value - means[i]);
  });
  for (std::size_t i = 0; i < size; ++i) {
    totals[i] /= counts[i] - static_cast<double>(context.attr<std::int64_t>("correction"));
  }
  store(totals, context.out());
}

void logsumexp_reference(KernelContext& context) {
  const std::size_t size = static_cast<std::size_t>(context.out().numel());
  std::vector<double> largest(size, -INFINITY), totals(size);
  for_each_reduced<double>(context, [&](std::size_t i, double value) {
    largest[i] = value != value || value > largest[i] ? value : largest[i];
  });
  for_each_reduced<double>(context, [&](std::size_t i, double value) {
    totals[i] +=
        std::isinf(largest[i]) ? (value == largest[i] ? 1.0 : 0.0) : std::exp(value - largest[i]);
  });
  for (std::size_t i = 0; i < size; ++i) {
    totals[i] = largest[i] + (totals[i] > 0 ? std::log(totals[i]) : 0);
  }
  store(totals, context.out());
}

}  // namespace antichain
