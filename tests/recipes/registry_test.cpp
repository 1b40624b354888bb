#include "recipes/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::registry_test {

TEST(Registry, FindsRecipesByName) {
  EXPECT_EQ(find_recipe("spirals").name, "spirals");
  expect_error<InvalidArgument>("there is no recipe 'spiral'; did you mean 'spirals'?",
                                [] { find_recipe("spiral"); });
}

TEST(Registry, EveryRecipeIsDescribedAndItsFallbacksAreAccepted) {
  std::set<std::string> names;
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    EXPECT_TRUE(names.insert(recipe.name).second);
    EXPECT_FALSE(recipe.summary.empty());
    Settings settings = recipe.context().settings;
    std::set<std::string> options;
    for (const OptionSpec& option : recipe.options) {
      EXPECT_TRUE(options.insert(option.name).second) << option.name;
      EXPECT_FALSE(option.doc.empty()) << option.name;
      EXPECT_NO_THROW(settings.set(option.name, option.fallback)) << option.name;
    }
  }
}

}  // namespace antichain::registry_test
