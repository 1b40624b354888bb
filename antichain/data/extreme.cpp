#include "antichain/data/extreme.h"

#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/data/folder.h"
#include "antichain/data/text_lines.h"

namespace antichain::data {

namespace {

std::shared_ptr<const SparseDataset> read_extreme_part(const SetFolder& set,
                                                       const std::string& name,
                                                       const std::string& part) {
  return read_extreme(
      *open_file(set.find({name + "_" + part + ".txt", name + "/" + part + ".txt"})));
}

}  // namespace

std::shared_ptr<const SparseDataset> read_extreme(ByteSource& source) {
  LineReader lines(source);
  std::string_view line;
  require<DataError>(lines.next(line), "{} is empty", source.name());
  const std::int64_t points =
      parse_within(cut(line, " "), 0, SparseRows::kMost, "the number of points", lines);
  SparseRows features(
      parse_within(cut(line, " "), 0, SparseRows::kMost, "the number of features", lines));
  SparseRows labels(parse_within(line, 0, SparseRows::kMost, "the number of labels", lines));

  std::vector<std::int32_t> columns;
  std::vector<float> values;
  const auto add_to = [&](SparseRows& rows) {
    rows.add(columns, values);
    columns.clear();
    values.clear();
  };
  while (lines.next(line)) {
    require<DataError>(labels.size() < points, "{}: more than the {} points of the first line",
                       lines.place(), points);
    for (std::string_view list = cut(line, " "); !list.empty();) {
      columns.push_back(static_cast<std::int32_t>(
          parse_within(cut(list, ","), 0, labels.num_columns() - 1, "a label", lines)));
      values.push_back(1);
    }
    add_to(labels);
    while (!line.empty()) {
      std::string_view pair = cut(line, " ");
      if (pair.empty()) {  // some files end lines with a space
        continue;
      }
      columns.push_back(static_cast<std::int32_t>(
          parse_within(cut(pair, ":"), 0, features.num_columns() - 1, "a feature", lines)));
      const std::optional<float> value = parse_number<float>(pair);
      require<DataError>(value.has_value(), "{}: '{}' is not the value of a feature", lines.place(),
                         pair.substr(0, 40));
      values.push_back(*value);
    }
    add_to(features);
  }
  require<DataError>(labels.size() == points, "{} breaks off: {} of {} points are there",
                     source.name(), labels.size(), points);
  return std::make_shared<SparseDataset>(std::move(features), std::move(labels));
}

Splits extreme(const std::string& name, const std::filesystem::path& folder) {
  const SetFolder set(folder, "xmc");
  const auto train = read_extreme_part(set, name, "train"),
             test = read_extreme_part(set, name, "test");
  require<DataError>(
      train->features().num_columns() == test->features().num_columns() &&
          train->labels().num_columns() == test->labels().num_columns(),
      "the parts of {} differ: {} features and {} labels for training, {} and {} for "
      "testing",
      name, train->features().num_columns(), train->labels().num_columns(),
      test->features().num_columns(), test->labels().num_columns());
  return {.train = train,
          .test = test,
          .num_classes = train->labels().num_columns(),
          .num_features = train->features().num_columns()};
}

}  // namespace antichain::data
