// Where the tests of recipes find data sets: $ANTICHAIN_DATA, or shared/data beside the repository.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

namespace antichain {

inline std::string test_data_folder() {
  const char* given = std::getenv("ANTICHAIN_DATA");
  return given != nullptr ? given : ANTICHAIN_SOURCE_FOLDER "/../shared/data";
}

/// Returns the file or folder without which a recipe cannot run; empty when it needs none.
inline std::string data_of(const std::string& recipe) {
  const std::map<std::string, std::string> needed = {
      {"mnist-mlp", "mnist"}, {"mnist-cnn", "mnist"}, {"agnews-rnn", "ag_news"},
      {"cora-gcn", "cora"},   {"har-gru", "uci_har"}, {"hyperspectral-odenet", "salinas_a"}};
  if (recipe.starts_with("fashion")) {
    return "/usr/share/datasets/fashion-mnist";
  }
  const auto found = needed.find(recipe);
  return found == needed.end() ? "" : test_data_folder() + "/" + found->second;
}

}  // namespace antichain

/// Skips a test where the data of the recipe is not there. A macro: GTEST_SKIP returns.
#define skip_without_data(recipe)                               \
  if (const std::string data = antichain::data_of(recipe);      \
      !data.empty() && !std::filesystem::exists(data)) {        \
    GTEST_SKIP() << "needs " << data << ", which is not there"; \
  }                                                             \
  static_assert(true)
