#include "recipes/registry.h"

#include <algorithm>

#include "antichain/base/edit_distance.h"
#include "antichain/base/error.h"
#include "recipes/recipe_list.h"

namespace antichain {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {spirals_recipe(),
                                          peaks_odenet_recipe(),
                                          bitstream_rnn_recipe(),
                                          mnist_mlp_recipe(),
                                          mnist_cnn_recipe(),
                                          mnist_odenet_recipe(),
                                          fashion_mlp_recipe(),
                                          fashion_cnn_recipe(),
                                          fashion_odenet_recipe(),
                                          agnews_rnn_recipe(),
                                          cora_gcn_recipe(),
                                          har_gru_recipe(),
                                          hyperspectral_odenet_recipe(),
                                          conv_chain_recipe(),
                                          xmc_planted_recipe(),
                                          delicious_recipe(),
                                          xmc_recipe(),
                                          mnist_hashed_recipe()};
  return all;
}

const Recipe& find_recipe(std::string_view name) {
  const auto nearest =
      std::min_element(recipes().begin(), recipes().end(), [&](const Recipe& a, const Recipe& b) {
        return edit_distance(name, a.name) < edit_distance(name, b.name);
      });
  require(nearest->name == name, "there is no recipe '{}'; did you mean '{}'?", name,
          nearest->name);
  return *nearest;
}

}  // namespace antichain
