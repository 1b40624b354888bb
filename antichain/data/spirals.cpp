#include "antichain/data/spirals.h"

#include <cmath>
#include <numbers>

#include "antichain/data/shuffled.h"

namespace antichain::data {

namespace {

constexpr double kTurns = 1.25;       // of each arm around the centre
constexpr double kInnerRadius = 0.1;  // the arms would meet at 0

}  // namespace

std::shared_ptr<const TensorDataset> spirals(const SpiralsOptions& options) {
  require(options.arms > 0 && options.points >= 0 && options.noise >= 0,
          "spirals need at least one arm, no negative number of points and no negative noise, got "
          "{}, {} and {}",
          options.arms, options.points, options.noise);
  const RandomStream stream = random_stream(options.seed, Purpose::points, options.stream);
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
  return std::make_shared<TensorDataset>(
      Batch{{"x", Tensor::of<float>({options.points, 2}, x)},
            {"y", Tensor::of<std::int64_t>({options.points}, y)}});
}

}  // namespace antichain::data
