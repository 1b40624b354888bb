#include "antichain/data/hyperspectral.h"

#include <cmath>
#include <map>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/data/folder.h"
#include "antichain/data/npy.h"
#include "antichain/data/shuffled.h"

namespace antichain::data {

namespace {

using Numbers = std::vector<std::int64_t>;

// The pixels of each class, in a drawn order.
std::map<std::int64_t, Numbers> shuffled_classes(const Numbers& classes, std::int64_t seed) {
  std::map<std::int64_t, Numbers> members;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    members[classes[i]].push_back(static_cast<std::int64_t>(i));
  }
  for (auto& [label, pixels] : members) {
    Numbers drawn;
    for (const std::int64_t i : shuffled(static_cast<std::int64_t>(pixels.size()), seed, label)) {
      drawn.push_back(pixels[static_cast<std::size_t>(i)]);
    }
    pixels = std::move(drawn);
  }
  return members;
}

// Subtracts the mean of the training rows and divides by their deviation, column by column.
void standardise(const Tensor& x, const Numbers& train) {
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1];
  float* const values = x.data<float>();
  const double count = static_cast<double>(train.size());
  for (std::int64_t column = 0; column < columns && !train.empty(); ++column) {
    double sum = 0, squares = 0;
    for (const std::int64_t row : train) {
      sum += values[row * columns + column];
    }
    const double mean = sum / count;
    for (const std::int64_t row : train) {
      squares += std::pow(values[row * columns + column] - mean, 2);
    }
    const double deviation = squares > 0 ? std::sqrt(squares / count) : 1;
    for (std::int64_t row = 0; row < rows; ++row) {
      float& value = values[row * columns + column];
      value = static_cast<float>((value - mean) / deviation);
    }
  }
}

}  // namespace

Splits divide_scene(const Tensor& cube, const Tensor& ground_truth, const SceneOptions& options) {
  require<DataError>(
      cube.rank() == 3 && ground_truth.rank() == 2 && ground_truth.dtype() == u8 &&
          cube.shape()[0] == ground_truth.shape()[0] && cube.shape()[1] == ground_truth.shape()[1],
      "a scene [rows, columns, bands] needs a ground truth u8[rows, columns], found "
      "{} and {}{}",
      to_string(cube.shape()), name(ground_truth.dtype()), to_string(ground_truth.shape()));
  require(options.train >= 0 && options.validation >= 0 && options.train + options.validation <= 1,
          "a scene cannot be divided into {} for training and {} for validation", options.train,
          options.validation);
  const std::int64_t bands = cube.shape()[2];
  std::map<std::int64_t, Numbers> members =
      shuffled_classes(ground_truth.to_vector<std::int64_t>(), options.seed);
  members.erase(0);  // unlabelled

  Numbers pixels, labels, train, validation, test;  // the last three number the first
  std::int64_t label = 0;
  for (const auto& [unused, drawn] : members) {
    const auto size = static_cast<double>(drawn.size());
    const auto first = static_cast<std::size_t>(options.train * size);
    const auto second = first + static_cast<std::size_t>(options.validation * size);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      Numbers& part = i < first ? train : i < second ? validation : test;
      part.push_back(static_cast<std::int64_t>(pixels.size()));
      pixels.push_back(drawn[i]);
      labels.push_back(label);
    }
    ++label;
  }
  const TensorDataset all({{"x", cube.cast(f32).reshape({ground_truth.numel(), bands})}});
  const Tensor x = all.take(pixels).at("x");
  standardise(x, train);
  const auto dataset = std::make_shared<TensorDataset>(
      Batch{{"x", x}, {"y", Tensor::of<std::int64_t>({x.shape()[0]}, labels)}});
  return {.train = subset(dataset, train),
          .validation = subset(dataset, validation),
          .test = subset(dataset, test),
          .num_classes = label};
}

Splits salinas_a(const std::filesystem::path& folder, const SceneOptions& options) {
  const SetFolder set(folder, "salinas_a");
  const Tensor cube = read_npy(*open_file(set.find({"cube.npy"})));
  const Tensor ground_truth = read_npy(*open_file(set.find({"gt.npy"})));
  Splits splits = divide_scene(cube, ground_truth, options);
  splits.class_names = {"broccoli green weeds 1",   "corn senesced green weeds",
                        "lettuce romaine, 4 weeks", "lettuce romaine, 5 weeks",
                        "lettuce romaine, 6 weeks", "lettuce romaine, 7 weeks"};
  return splits;
}

Splits indian_pines(const std::filesystem::path& folder, const FoldOptions& options) {
  require(options.folds >= 2 && options.fold >= 0 && options.fold < options.folds,
          "fold {} of {} cannot be had; at least two are needed, counted from 0", options.fold,
          options.folds);
  const std::vector<std::string> classes = {"alfalfa",
                                            "corn no-till",
                                            "corn min-till",
                                            "corn",
                                            "grass pasture",
                                            "grass trees",
                                            "grass pasture mowed",
                                            "hay windrowed",
                                            "oats",
                                            "soybean no-till",
                                            "soybean min-till",
                                            "soybean clean",
                                            "wheat",
                                            "woods",
                                            "buildings grass trees drives",
                                            "stone steel towers"};
  const auto num_classes = static_cast<std::int64_t>(classes.size());
  const SetFolder set(folder, "indian_pines");
  const auto x_path = set.find({"x_695.npy"}), y_path = set.find({"y_695.npy"});
  const Tensor x = read_npy(*open_file(x_path)), y = read_npy(*open_file(y_path));
  require<DataError>(
      x.dtype() == f32 && x.rank() == 2 && y.dtype() == u8 && y.shape() == Shape{x.shape()[0]},
      "{} must hold f32[n, bands] and {} a class u8 for each row, found {}{} and {}{}",
      x_path.string(), y_path.string(), name(x.dtype()), to_string(x.shape()), name(y.dtype()),
      to_string(y.shape()));
  Numbers labels = y.to_vector<std::int64_t>();
  for (std::int64_t& label : labels) {
    require<DataError>(label >= 1 && label <= num_classes, "{} names class {}; accepted: 1 to {}",
                       y_path.string(), label, num_classes);
    --label;
  }
  Numbers train, test;
  for (const auto& [unused, drawn] : shuffled_classes(labels, options.seed)) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const bool held = static_cast<std::int64_t>(i) % options.folds == options.fold;
      (held ? test : train).push_back(drawn[i]);
    }
  }
  const auto dataset = std::make_shared<TensorDataset>(
      Batch{{"x", x}, {"y", Tensor::of<std::int64_t>({x.shape()[0]}, labels)}});
  return {.train = subset(dataset, train),
          .test = subset(dataset, test),
          .num_classes = num_classes,
          .class_names = classes};
}

}  // namespace antichain::data
