// Where the tests of recipes find data sets: $ANTICHAIN_DATA, or shared/data beside the repository.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tests/build_paths.h"

namespace antichain {

inline std::string test_data_folder() { return shared_data().string(); }

/// Returns the file or folder without which a recipe cannot run; empty when it needs none.
inline std::string data_of(const std::string& recipe) {
  const std::map<std::string, std::string> needed = {{"mnist-mlp", "mnist"},
                                                     {"mnist-cnn", "mnist"},
                                                     {"mnist-odenet", "mnist"},
                                                     {"agnews-rnn", "ag_news"},
                                                     {"cora-gcn", "cora"},
                                                     {"har-gru", "uci_har"},
                                                     {"hyperspectral-odenet", "salinas_a"},
                                                     {"delicious", "xmc"},
                                                     {"xmc", "xmc"},
                                                     {"mnist-hashed", "mnist"}};
  if (recipe.starts_with("fashion")) {
    return "/usr/share/datasets/fashion-mnist";
  }
  const auto found = needed.find(recipe);
  return found == needed.end() ? "" : test_data_folder() + "/" + found->second;
}

/// Returns what --data would say for a recipe: the folder of all sets, or a file.
inline std::string data_for(const std::string& recipe) {
  return recipe == "xmc" ? data_of(recipe) + "/delicious_train.txt.xz" : test_data_folder();
}

/// Returns why a recipe cannot run here; empty when it can. For GTEST_SKIP.
inline std::string missing_data(const std::string& recipe) {
  const std::string data = data_of(recipe);
  return data.empty() || std::filesystem::exists(data) ? ""
                                                       : "needs " + data + ", which is not there";
}

}  // namespace antichain
