#include <algorithm>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/data/shuffled.h"
#include "antichain/data/sparse_rows.h"
#include "antichain/data/synthetic.h"

namespace antichain::data {

namespace {

// What is drawn has a key of its own.
constexpr std::int64_t kTypicalKey = 1, kPointKey = 2;

class Planted final : public Dataset {
 public:
  Planted(const PlantedOptions& options, std::int64_t first, std::int64_t size)
      : options_(options),
        first_(first),
        size_(size),
        typical_(folded_in(random_stream(options.seed, Purpose::points), kTypicalKey)),
        points_(folded_in(random_stream(options.seed, Purpose::points), kPointKey)) {}
  std::int64_t size() const override { return size_; }
  Batch take(std::span<const std::int64_t> numbers) const override {
    check_numbers(numbers);
    SparseRows features(options_.num_features), labels(options_.num_labels);
    for (const std::int64_t number : numbers) {
      add_point(first_ + number, features, labels);
    }
    Batch batch;
    features.put(batch, "x");
    labels.put_pattern(batch, "y");
    return batch;
  }

  /// Draws all points, once, to be held in memory.
  DatasetPtr drawn() const {
    SparseRows features(options_.num_features), labels(options_.num_labels);
    for (std::int64_t number = 0; number < size_; ++number) {
      add_point(first_ + number, features, labels);
    }
    return std::make_shared<SparseDataset>(std::move(features), std::move(labels));
  }

 private:
  using Columns = std::vector<std::int32_t>;

  // A whole number below `end` from draw i of a stream.
  static std::int64_t below(std::int64_t end, RandomStream stream, std::int64_t i) {
    return static_cast<std::int64_t>(uniform_f64(stream, i) * static_cast<double>(end));
  }
  // A label from a power law over real numbers from 1 to the number of labels and one, by the
  // inverse of its distribution.
  std::int64_t label(RandomStream stream, std::int64_t i) const {
    const double u = uniform_f64(stream, i), end = static_cast<double>(options_.num_labels) + 1;
    const double power = 1 - options_.skew;
    const double drawn =
        power == 0 ? std::pow(end, u) : std::pow(1 + u * (std::pow(end, power) - 1), 1 / power);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(drawn) - 1, 0,
                                    options_.num_labels - 1);
  }
  static void sort_unique(Columns& columns) {
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }

  void add_point(std::int64_t point, SparseRows& features, SparseRows& labels) const {
    const RandomStream stream = folded_in(points_, point);
    std::int64_t draw = 0;
    const std::int64_t num_labels = 1 + below(options_.max_labels, stream, draw++);
    Columns chosen, columns;
    for (std::int64_t i = 0; i < num_labels; ++i) {
      chosen.push_back(static_cast<std::int32_t>(label(stream, draw++)));
    }
    for (std::int64_t i = 0; i < options_.draws; ++i) {
      const bool noise = uniform_f64(stream, draw++) < options_.noise;
      const std::int64_t which = below(options_.label_features, stream, draw++);
      const std::int64_t any = below(options_.num_features, stream, draw++);
      const std::int64_t of = chosen[static_cast<std::size_t>(i % num_labels)];
      columns.push_back(static_cast<std::int32_t>(
          noise ? any
                : below(options_.num_features, typical_, of * options_.label_features + which)));
    }
    sort_unique(chosen);
    sort_unique(columns);
    const std::vector<float> ones(chosen.size(), 1.0F);
    const std::vector<float> values(
        columns.size(), static_cast<float>(1 / std::sqrt(static_cast<double>(columns.size()))));
    labels.add(chosen, ones);
    features.add(columns, values);
  }

  PlantedOptions options_;
  std::int64_t first_, size_;
  RandomStream typical_, points_;
};

// Drawing a point takes as long as a good part of a training step on it. What is larger is drawn
// batch by batch.
constexpr double kMostHeldBytes = 512 << 20;

DatasetPtr planted_points(const PlantedOptions& options, std::int64_t first, std::int64_t size) {
  const auto points = std::make_shared<Planted>(options, first, size);
  const double bytes =
      8.0 * static_cast<double>(size) * static_cast<double>(options.draws + options.max_labels);
  return bytes <= kMostHeldBytes ? points->drawn() : DatasetPtr(points);
}

}  // namespace

Splits planted(const PlantedOptions& options) {
  const auto check = [](const char* what, std::int64_t found, std::int64_t least) {
    require(found >= least && found <= SparseRows::kMost,
            "planted: {} must be within [{}, {}], got {}", what, least, SparseRows::kMost, found);
  };
  check("num_features", options.num_features, 1);
  check("num_labels", options.num_labels, 1);
  check("train", options.train, 0);
  check("test", options.test, 0);
  check("max_labels", options.max_labels, 1);
  check("label_features", options.label_features, 1);
  check("draws", options.draws, 1);
  require(options.skew >= 0 && options.skew <= 4, "planted: skew must be within [0, 4], got {}",
          options.skew);
  require(options.noise >= 0 && options.noise <= 1, "planted: noise must be within [0, 1], got {}",
          options.noise);
  return {.train = planted_points(options, 0, options.train),
          .test = planted_points(options, options.train, options.test),
          .num_classes = options.num_labels,
          .num_features = options.num_features};
}

}  // namespace antichain::data
