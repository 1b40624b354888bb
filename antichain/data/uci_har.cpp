#include "antichain/data/uci_har.h"

#include <array>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/data/folder.h"
#include "antichain/data/npy.h"
#include "antichain/data/text_lines.h"

namespace antichain::data {

namespace {

constexpr std::int64_t kSignals = 9, kSteps = 128;
constexpr std::array kSignalNames = {"body_acc_x",  "body_acc_y",  "body_acc_z",
                                     "body_gyro_x", "body_gyro_y", "body_gyro_z",
                                     "total_acc_x", "total_acc_y", "total_acc_z"};
static_assert(kSignalNames.size() == kSignals);

// The published form: a text file per signal.
Tensor read_signals(const SetFolder& set, const std::string& part) {
  Tensor x;
  for (std::int64_t s = 0; s < kSignals; ++s) {
    const auto path = set.find({fmt::format("{}/Inertial Signals/{}_{}.txt", part,
                                            kSignalNames[static_cast<std::size_t>(s)], part)});
    const Tensor signal = read_table(*open_file(path), kSteps);
    if (s == 0) {
      x = Tensor::empty(f32, {signal.shape()[0], kSignals, kSteps});
    }
    require<DataError>(signal.shape()[0] == x.shape()[0], "{} has {} windows, others have {}",
                       path.string(), signal.shape()[0], x.shape()[0]);
    x.select(1, s).copy_from(signal);
  }
  return x;
}

DatasetPtr read_har_part(const SetFolder& set, const std::string& part, std::int64_t num_classes) {
  const auto packed = set.look_for({"X_" + part + ".npy"});
  const bool published = !packed && set.look_for({part + "/y_" + part + ".txt"});
  const Tensor x =
      published ? read_signals(set, part) : read_npy(*open_file(set.find({"X_" + part + ".npy"})));
  require<DataError>(
      x.dtype() == f32 && x.rank() == 3 && x.shape()[1] == kSignals && x.shape()[2] == kSteps,
      "the signals of uci_har must be f32[n, {}, {}], found {}{}", kSignals, kSteps,
      name(x.dtype()), to_string(x.shape()));
  const auto labels_path =
      set.find({published ? part + "/y_" + part + ".txt" : "y_" + part + ".txt"});
  std::vector<std::int64_t> labels =
      read_integers(*open_file(labels_path), 1, num_classes, "a class");
  require<DataError>(static_cast<std::int64_t>(labels.size()) == x.shape()[0],
                     "{} has {} classes for {} windows", labels_path.string(), labels.size(),
                     x.shape()[0]);
  for (std::int64_t& label : labels) {
    --label;
  }
  return std::make_shared<TensorDataset>(
      Batch{{"x", x}, {"y", Tensor::of<std::int64_t>({x.shape()[0]}, labels)}});
}

}  // namespace

Tensor read_table(ByteSource& source, std::int64_t columns) {
  LineReader lines(source);
  std::vector<float> values;
  std::int64_t rows = 0;
  for (std::string_view line; lines.next(line); ++rows) {
    std::int64_t found = 0;
    while (!line.empty()) {
      const std::string_view text = cut(line, " ");
      if (text.empty()) {
        continue;
      }
      // The published files give sixteen digits; the nearest float is what they mean.
      const std::optional<double> value = parse_number<double>(text);
      require<DataError>(value && std::isfinite(*value), "{}: '{}' is not a number",
                         lines.line_in_file(), text.substr(0, 40));
      values.push_back(static_cast<float>(*value));
      ++found;
    }
    require<DataError>(found == columns, "{}: {} numbers, there must be {}", lines.line_in_file(),
                       found, columns);
  }
  return Tensor::of<float>({rows, columns}, values);
}

Splits uci_har(const std::filesystem::path& folder) {
  const std::vector<std::string> classes = {"walking", "walking upstairs", "walking downstairs",
                                            "sitting", "standing",         "laying"};
  const auto num_classes = static_cast<std::int64_t>(classes.size());
  const SetFolder set(folder, "uci_har");
  return {.train = read_har_part(set, "train", num_classes),
          .test = read_har_part(set, "test", num_classes),
          .num_classes = num_classes,
          .class_names = classes};
}

}  // namespace antichain::data
