// Words of a text, and their numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace antichain::data {

/// Returns the words of a text in lower case: runs of ASCII letters and digits and of characters
/// beyond ASCII, which are left as they are.
std::vector<std::string> tokenise(std::string_view text);

struct VocabularyOptions {
  std::int64_t max_words = 30'000;  // the most frequent ones, with the two marks
  std::int64_t min_count = 1;       // rarer words are unknown
};

class Vocabulary {
 public:
  static constexpr std::int64_t kPadding = 0, kUnknown = 1;  // marks, which come before the words

  /// Numbers the words of texts by how often they occur; ties are broken by the alphabet.
  Vocabulary(std::span<const std::string> texts, const VocabularyOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  /// Returns every word by its number; the marks are called "<pad>" and "<unk>".
  const std::vector<std::string>& words() const { return words_; }
  /// Returns the number of a word, kUnknown if it has none.
  std::int64_t number(const std::string& word) const;
  /// Writes the numbers of the first words of a text and fills up with kPadding.
  void encode(std::string_view text, std::span<std::int64_t> numbers) const;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace antichain::data
