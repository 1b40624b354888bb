#include "antichain/data/vocabulary.h"

#include <algorithm>
#include <utility>

#include "antichain/base/error.h"

namespace antichain::data {

namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::vector<std::string> tokenise(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    if (!is_word_character(c)) {
      inside = false;
      continue;
    }
    if (!inside) {
      words.emplace_back();
      inside = true;
    }
    words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

Vocabulary::Vocabulary(std::span<const std::string> texts, const VocabularyOptions& options)
    : words_{"<pad>", "<unk>"} {
  require(options.max_words > size(),
          "a vocabulary must have room for more than its {} marks, got {}", size(),
          options.max_words);
  std::unordered_map<std::string, std::int64_t> counts;
  for (const std::string& text : texts) {
    for (std::string& word : tokenise(text)) {
      ++counts[std::move(word)];
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto& [word, count] : sorted) {
    if (size() == options.max_words || count < options.min_count) {
      break;
    }
    numbers_.emplace(word, size());
    words_.push_back(word);
  }
}

std::int64_t Vocabulary::number(const std::string& word) const {
  const auto found = numbers_.find(word);
  return found != numbers_.end() ? found->second : kUnknown;
}

void Vocabulary::encode(std::string_view text, std::span<std::int64_t> numbers) const {
  std::fill(numbers.begin(), numbers.end(), kPadding);
  const std::vector<std::string> words = tokenise(text);
  for (std::size_t i = 0; i < std::min(words.size(), numbers.size()); ++i) {
    numbers[i] = number(words[i]);
  }
}

}  // namespace antichain::data
