#include "antichain/data/extreme.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/data/folder.h"
#include "antichain/data/text_lines.h"

namespace antichain::data {

namespace {

// What is published is in order, so sorting is rare.
void require_unlike(std::vector<std::int32_t>& columns, std::vector<std::int32_t>& sorted,
                    const char* what, const LineReader& lines) {
  if (std::ranges::adjacent_find(columns, std::greater_equal()) == columns.end()) {
    return;
  }
  sorted = columns;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  require<DataError>(twice == sorted.end(), "{}: {} {} stands there twice", lines.line_in_file(),
                     what, twice == sorted.end() ? 0 : *twice);
}

Splits read_parts(const std::filesystem::path& train_file, const std::filesystem::path& test_file,
                  const std::string& name) {
  const auto train = read_extreme(*open_file(train_file)),
             test = read_extreme(*open_file(test_file));
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
  std::vector<std::int32_t> sorted;
  const auto add_to = [&](SparseRows& rows, const char* what) {
    require_unlike(columns, sorted, what, lines);
    rows.add(columns, values);
    columns.clear();
    values.clear();
  };
  while (lines.next(line)) {
    require<DataError>(labels.size() < points, "{}: more than the {} points of the first line",
                       lines.line_in_file(), points);
    for (std::string_view list = cut(line, " "); !list.empty();) {
      columns.push_back(static_cast<std::int32_t>(
          parse_within(cut(list, ","), 0, labels.num_columns() - 1, "a label", lines)));
      values.push_back(1);
    }
    add_to(labels, "label");
    while (!line.empty()) {
      std::string_view pair = cut(line, " ");
      if (pair.empty()) {  // some files end lines with a space
        continue;
      }
      columns.push_back(static_cast<std::int32_t>(
          parse_within(cut(pair, ":"), 0, features.num_columns() - 1, "a feature", lines)));
      const std::optional<float> value = parse_number<float>(pair);
      require<DataError>(value && std::isfinite(*value), "{}: '{}' is not the value of a feature",
                         lines.line_in_file(), pair.substr(0, 40));
      values.push_back(*value);
    }
    add_to(features, "feature");
  }
  require<DataError>(labels.size() == points, "{} breaks off: {} of {} points are there",
                     source.name(), labels.size(), points);
  return std::make_shared<SparseDataset>(std::move(features), std::move(labels));
}

Splits extreme(const std::string& name, const std::filesystem::path& folder) {
  const SetFolder set(folder, "xmc");
  const auto find = [&](const std::string& part) {
    return set.find({name + "_" + part + ".txt", name + "/" + part + ".txt"});
  };
  return read_parts(find("train"), find("test"), name);
}

Splits extreme_files(const std::filesystem::path& train, const std::filesystem::path& test) {
  return read_parts(train, test, train.string());
}

std::filesystem::path extreme_test_file(const std::filesystem::path& train) {
  std::string name = train.filename().string();
  for (const char* const packing : {".gz", ".xz"}) {
    if (name.ends_with(packing)) {
      name.resize(name.size() - std::string_view(packing).size());
    }
  }
  for (const auto& [part, other] : {std::pair("train", "test"), std::pair("trn", "tst")}) {
    const std::size_t at = name.rfind(part);
    if (at == std::string::npos) {
      continue;
    }
    name.replace(at, std::string_view(part).size(), other);
    for (const char* const packing : {"", ".gz", ".xz"}) {
      if (auto path = train.parent_path() / (name + packing); std::filesystem::exists(path)) {
        return path;
      }
    }
    fail<DataError>("there is no file of test points for {}: no {} (nor with .gz or .xz) beside it",
                    train.string(), name);
  }
  fail<DataError>("the name of {} does not say how that of its test points is: it has no 'train'",
                  train.string());
}

}  // namespace antichain::data
