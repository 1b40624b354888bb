// AG-News: topics of news, the text set of Zhang, Zhao and LeCun (2015).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "antichain/data/byte_source.h"
#include "antichain/data/dataset.h"
#include "antichain/data/vocabulary.h"

namespace antichain::data {

/// Texts with a class each.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::int64_t> labels;

  /// Gives "x" i64[n, length], numbers of words filled up with Vocabulary::kPadding, and "y"
  /// i64[n].
  DatasetPtr encode(const Vocabulary& vocabulary, std::int64_t length) const;
};

/// Reads CSV records of a class from 1 to `num_classes` and two or more fields of text, which are
/// joined by spaces.
LabelledTexts read_labelled_texts(ByteSource& source, std::int64_t num_classes);

struct TextOptions {
  std::int64_t length = 64;  // words of a sample; more are cut off
  VocabularyOptions vocabulary = {};
};

/// Loads AG-News, train.csv (or the part train_part.csv) and test.csv. The vocabulary, made of the
/// training texts, is in Splits::feature_names.
Splits ag_news(const std::filesystem::path& folder = {}, const TextOptions& options = {});

}  // namespace antichain::data
