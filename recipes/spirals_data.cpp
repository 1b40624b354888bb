#include "recipes/spirals_data.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "antichain/base/random_functions.h"

namespace antichain {

namespace {

constexpr double kTurns = 1.25;       // of each arm around the centre
constexpr double kInnerRadius = 0.1;  // the arms would meet at 0

// Derived, so that neither data nor order shares bits with what the graph draws with this seed.
constexpr std::int64_t kDataKey = 1, kOrderKey = 2;

RandomStream derived(std::int64_t seed, std::int64_t key, std::int64_t stream) {
  return folded_in({.seed = seed, .stream = stream}, key);
}

}  // namespace

LabelledPoints make_spirals(const SpiralsOptions& options) {
  const RandomStream stream = derived(options.seed, kDataKey, options.stream);
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < options.points; ++i) {
    const std::int64_t arm = i % options.arms;
    // Four draws per point, at even numbers: the normal pair 4i + 2, 4i + 3 is a block of its own.
    const double along = uniform_f64(stream, 4 * i);
    const double radius = kInnerRadius + (1 - kInnerRadius) * along;
    const double angle =
        2 * std::numbers::pi *
        (kTurns * along + static_cast<double>(arm) / static_cast<double>(options.arms));
    x.push_back(static_cast<float>(radius * std::cos(angle) +
                                   options.noise * normal_f64(stream, 4 * i + 2)));
    x.push_back(static_cast<float>(radius * std::sin(angle) +
                                   options.noise * normal_f64(stream, 4 * i + 3)));
    y.push_back(arm);
  }
  return {Tensor::of<float>({options.points, 2}, x), Tensor::of<std::int64_t>({options.points}, y)};
}

LabelledPoints LabelledPoints::take(std::span<const std::int64_t> numbers) const {
  const auto count = static_cast<std::int64_t>(numbers.size());
  LabelledPoints taken{Tensor::empty(f32, {count, 2}), Tensor::empty(i64, {count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = numbers[static_cast<std::size_t>(i)];
    for (int axis = 0; axis < 2; ++axis) {
      taken.x.data<float>()[2 * i + axis] = x.data<float>()[2 * from + axis];
    }
    taken.y.data<std::int64_t>()[i] = y.data<std::int64_t>()[from];
  }
  return taken;
}

std::vector<std::int64_t> shuffled(std::int64_t size, std::int64_t seed, std::int64_t stream) {
  const RandomStream source = derived(seed, kOrderKey, stream);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {  // Fisher and Yates, 1938
    const auto j = static_cast<std::size_t>(uniform_f64(source, static_cast<std::int64_t>(i)) *
                                            static_cast<double>(i));
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

}  // namespace antichain
