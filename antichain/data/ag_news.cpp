#include "antichain/data/ag_news.h"

#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/data/csv.h"
#include "antichain/data/folder.h"

namespace antichain::data {

DatasetPtr LabelledTexts::encode(const Vocabulary& vocabulary, std::int64_t length) const {
  require(length > 0, "texts must be encoded in at least one word, got {}", length);
  const auto size = static_cast<std::int64_t>(texts.size());
  const Tensor x = Tensor::empty(i64, {size, length});
  std::int64_t* row = x.data<std::int64_t>();
  for (const std::string& text : texts) {
    vocabulary.encode(text, {row, static_cast<std::size_t>(length)});
    row += length;
  }
  return std::make_shared<TensorDataset>(
      Batch{{"x", x}, {"y", Tensor::of<std::int64_t>({size}, labels)}});
}

LabelledTexts read_labelled_texts(ByteSource& source, std::int64_t num_classes) {
  CsvReader records(source);
  LabelledTexts read;
  for (std::vector<std::string> fields; records.next(fields);) {
    require<DataError>(fields.size() >= 2, "{}: {} fields; a class and a text are needed",
                       records.line_in_file(), fields.size());
    const std::optional<std::int64_t> label = parse_number<std::int64_t>(fields[0]);
    require<DataError>(label && *label >= 1 && *label <= num_classes,
                       "{}: the class must be within [1, {}], found '{}'", records.line_in_file(),
                       num_classes, fields[0].substr(0, 40));
    read.labels.push_back(*label - 1);
    std::string& text = read.texts.emplace_back(std::move(fields[1]));
    for (std::size_t i = 2; i < fields.size(); ++i) {
      text += ' ' + fields[i];
    }
  }
  return read;
}

Splits ag_news(const std::filesystem::path& folder, const TextOptions& options) {
  const std::vector<std::string> classes = {"World", "Sports", "Business", "Sci/Tech"};
  const auto num_classes = static_cast<std::int64_t>(classes.size());
  const SetFolder set(folder, "ag_news");
  const auto read = [&](const std::vector<std::string>& names) {
    return read_labelled_texts(*open_file(set.find(names)), num_classes);
  };
  const LabelledTexts train = read({"train.csv", "train_part.csv"}), test = read({"test.csv"});
  const Vocabulary vocabulary(train.texts, options.vocabulary);
  return {.train = train.encode(vocabulary, options.length),
          .test = test.encode(vocabulary, options.length),
          .num_classes = num_classes,
          .class_names = classes,
          .num_features = vocabulary.size(),
          .feature_names = vocabulary.words()};
}

}  // namespace antichain::data
