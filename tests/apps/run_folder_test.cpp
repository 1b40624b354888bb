// Damaged descriptions of runs: they describe a run or throw DataError.
#include "apps/antichain/run_folder.h"

#include <gmock/gmock.h>

#include "antichain/base/error.h"
#include "recipes/registry.h"
#include "tests/base/temporary_folder.h"
#include "tests/data/damage.h"

namespace antichain::app {

TEST(RunFolder, ComesBack) {
  const TemporaryFolder folder;
  const Recipe& recipe = find_recipe("spirals");
  RecipeContext context = recipe.context();
  context.seed = INT64_MIN;
  context.data_folder = "/data/\xff\xfe";  // a path need not be UTF-8
  context.memory_budget = std::size_t{1} << 40;
  context.compiler = {.level = 1, .disabled = {"simplify"}, .fast_math = true};
  context.settings.set("lr", "0.25");
  describe_run(folder.path(), recipe, context);
  const RunDescription run = read_run(folder.path());
  EXPECT_EQ(run.recipe, "spirals");
  EXPECT_EQ(run.context.seed, INT64_MIN);
  EXPECT_EQ(run.context.data_folder, "/data/\xff\xfe");
  EXPECT_EQ(run.context.memory_budget, std::size_t{1} << 40);
  EXPECT_EQ(run.context.compiler.level, 1);
  EXPECT_EQ(run.context.compiler.disabled, std::vector<std::string>{"simplify"});
  EXPECT_TRUE(run.context.compiler.fast_math);
  EXPECT_EQ(run.context.settings.number("lr"), 0.25);
}

TEST(RunFolder, SurvivesDamage) {
  const TemporaryFolder folder;
  const Recipe& recipe = find_recipe("spirals");
  describe_run(folder.path(), recipe, recipe.context());
  const std::string valid = read_text(folder / "run.json");
  Damage damage(3);
  int readable = 0;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(round);
    write_text(folder / "run.json", damage.apply(valid));
    try {
      read_run(folder.path());
      ++readable;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("run.json"));
    }
  }
  EXPECT_GT(readable, 0);
}

}  // namespace antichain::app
