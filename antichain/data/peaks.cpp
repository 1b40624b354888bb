#include <algorithm>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/data/shuffled.h"
#include "antichain/data/synthetic.h"

namespace antichain::data {

namespace {

constexpr std::int64_t kGrid = 256;    // points along each axis
constexpr double kEnd = 3;             // of each axis, which starts at -kEnd
constexpr std::int64_t kNumBands = 5;  // of equal height

double coordinate(std::int64_t i) {
  return -kEnd + 2 * kEnd * static_cast<double>(i) / static_cast<double>(kGrid - 1);
}

// MATLAB's documentation of `peaks`.
double height(double x, double y) {
  return 3 * (1 - x) * (1 - x) * std::exp(-x * x - (y + 1) * (y + 1)) -
         10 * (x / 5 - x * x * x - std::pow(y, 5)) * std::exp(-x * x - y * y) -
         std::exp(-(x + 1) * (x + 1) - y * y) / 3;
}

// The points of the grid in each band.
std::vector<std::vector<std::int64_t>> bands() {
  std::vector<double> heights;
  for (std::int64_t i = 0; i < kGrid * kGrid; ++i) {
    heights.push_back(height(coordinate(i / kGrid), coordinate(i % kGrid)));
  }
  const auto [lowest, highest] = std::minmax_element(heights.begin(), heights.end());
  std::vector<std::vector<std::int64_t>> members(kNumBands);
  for (std::size_t i = 0; i < heights.size(); ++i) {
    const double band = kNumBands * (heights[i] - *lowest) / (*highest - *lowest);
    members[std::min<std::size_t>(static_cast<std::size_t>(band), kNumBands - 1)].push_back(
        static_cast<std::int64_t>(i));
  }
  return members;
}

struct Points {
  std::vector<float> x;
  std::vector<std::int64_t> y;

  void add(std::int64_t at, std::int64_t band) {
    x.push_back(static_cast<float>(coordinate(at / kGrid)));
    x.push_back(static_cast<float>(coordinate(at % kGrid)));
    y.push_back(band);
  }
  DatasetPtr dataset() const {
    const auto size = static_cast<std::int64_t>(y.size());
    return std::make_shared<TensorDataset>(
        Batch{{"x", Tensor::of<float>({size, 2}, x)}, {"y", Tensor::of<std::int64_t>({size}, y)}});
  }
};

}  // namespace

Splits peaks(const PeaksOptions& options) {
  const std::int64_t train = options.train_per_class, validation = options.validation_per_class;
  require(train >= 0 && validation >= 0, "a class of peaks cannot have {} + {} points", train,
          validation);
  Points train_points, validation_points;
  std::int64_t band = 0;
  for (const std::vector<std::int64_t>& members : bands()) {
    const auto available = static_cast<std::int64_t>(members.size());
    require(train + validation <= available,
            "class {} of peaks has {} points on the grid, {} + {} were asked for", band, available,
            train, validation);
    const std::vector<std::int64_t> order = shuffled(available, options.seed, band);
    for (std::int64_t i = 0; i < train + validation; ++i) {
      (i < train ? train_points : validation_points)
          .add(members[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])], band);
    }
    ++band;
  }
  return {.train = train_points.dataset(),
          .validation = validation_points.dataset(),
          .num_classes = kNumBands};
}

}  // namespace antichain::data
