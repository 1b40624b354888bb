// Commands that list what there is: help, version, ops, engines, recipes.
#include <gmock/gmock.h>

#include "tests/apps/run_program.h"

namespace antichain::listing_test {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(Help, IsThereForEveryCommand) {
  for (const char* command :
       {"", "train ", "eval ", "compare ", "gradcheck ", "bench ", "explain ", "calibrate ",
        "data ", "data list ", "data fetch ", "recipes ", "passes ", "engines ", "ops "}) {
    for (const char* flag : {"--help", "-h"}) {
      SCOPED_TRACE(std::string(command) + flag);
      const ProgramRun run = run_program(std::string(command) + flag);
      EXPECT_EQ(run.code, 0);
      EXPECT_THAT(run.out, HasSubstr("Usage: antichain "));
      EXPECT_THAT(run.out, HasSubstr("--json"));
      EXPECT_EQ(run.err, "");
    }
  }
}

TEST(Version, NamesVersionAndParts) {
  const ProgramRun run = run_program("--version");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("^antichain [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_THAT(run.out, ContainsRegex("blas +(yes|no)"));
  const ProgramRun json = run_program("--json --version");
  EXPECT_EQ(json.code, 0);
  EXPECT_TRUE(json.last_line().at("version").is_string());
  EXPECT_TRUE(json.last_line().at("parts").at("blas").is_boolean());
}

TEST(Passes, AreListedInOrder) {
  const ProgramRun run = run_program("passes");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\nfuse-elementwise +2 +[a-z]"));
  EXPECT_THAT(run.out, ContainsRegex("\nfuse-products +2 +[a-z]"));
  EXPECT_THAT(run.out, ContainsRegex("\nchoose-layouts +3 +[a-z]"));
  EXPECT_THAT(run.out, ContainsRegex("\nbatch-updates +2 +[a-z]"));
  const nlohmann::json passes = run_program("passes --json").last_line().at("passes");
  EXPECT_EQ(passes[0].at("name"), "release-waits");
  EXPECT_EQ(passes[0].at("level"), 1);
}

TEST(Ops, ListsTheCatalogue) {
  const ProgramRun run = run_program("ops");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\nmatmul +[a-z]+ +own rule"));
  EXPECT_THAT(run.out, ContainsRegex("\nsoftmax +floats +through its decomposition|"
                                     "\nsoftmax +floats +own rule"));
  EXPECT_THAT(run.out, ContainsRegex("\nargmax +[a-z ]+ +none: "));
  const nlohmann::json ops = run_program("ops --json").last_line().at("ops");
  ASSERT_GT(ops.size(), 50U);
  for (const nlohmann::json& op : ops) {
    SCOPED_TRACE(op.dump());
    for (const char* field : {"name", "derivative", "vmap", "doc"}) {
      EXPECT_FALSE(op.at(field).get<std::string>().empty());
    }
    EXPECT_NE(op.at("derivative"), "none: ");
    EXPECT_TRUE(op.at("dtypes").is_array());
  }
}

TEST(Ops, ShowsOne) {
  const ProgramRun run = run_program("ops matmul");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("transpose_a"));
  EXPECT_THAT(run.out, ContainsRegex("kernels +onednn matmul, blas gemm, reference"));
  const nlohmann::json op = run_program("--json ops matmul").last_line();
  EXPECT_EQ(op.at("name"), "matmul");
  EXPECT_EQ(op.at("attributes").at(0).at("default"), "false");
  EXPECT_EQ(run_program("--json ops assign").last_line().at("effect"), "writes state");
  EXPECT_FALSE(run_program("--json ops add").last_line().at("rewrites").empty());
}

TEST(Ops, WritesTheReferenceOfAll) {
  const ProgramRun run = run_program("ops --markdown");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("\n## Matrix products\n\n### matmul\n"));
  EXPECT_THAT(run.out, HasSubstr("`matmul(f32[3, 5], f32[5, 2]) -> f32[3, 2]`"));
  EXPECT_THAT(run.out, HasSubstr("| `transpose_a` | false | "));
  const nlohmann::json listed = run_program("ops --json").last_line();
  for (const nlohmann::json& op : listed.at("ops")) {
    EXPECT_THAT(run.out, HasSubstr("\n### " + op.at("name").get<std::string>() + "\n"));
  }
  EXPECT_EQ(run_program("ops --markdown --json").last_line().at("markdown"), run.out);
  EXPECT_EQ(run_program("ops --markdown matmul").code, 2);
}

TEST(Engines, AreListedWithTheirGuarantee) {
  const ProgramRun run = run_program("engines");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\nbackprop +exact"));
  const nlohmann::json engines = run_program("engines --json").last_line().at("engines");
  ASSERT_GE(engines.size(), 2U);
  EXPECT_EQ(engines.at(1).at("name"), "forward");
}

TEST(Engines, ShowTheirOptions) {
  const ProgramRun run = run_program("engines scan");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\nwhen +auto +one of auto, always, faster, never +when to "));
  EXPECT_THAT(run.out, ContainsRegex("\nchunk +0 +whole number in \\[0, 1000000000\\] +steps "));
  EXPECT_THAT(run.out, ContainsRegex("\ntolerance +0 +number in \\[0, 1\\] +of newton"));
  EXPECT_THAT(run.out, HasSubstr("--engine scan:when=auto\n"));
  EXPECT_THAT(run_program("engines backprop").out, HasSubstr("It has no options."));
  const nlohmann::json names = run_program("engines --json").last_line().at("engines");
  for (const nlohmann::json& engine : names) {
    const std::string name = engine.at("name");
    const nlohmann::json shown = run_program("--json engines " + name).last_line();
    EXPECT_EQ(shown.at("guarantee"), engine.at("guarantee"));
    for (const nlohmann::json& option : shown.at("options")) {
      SCOPED_TRACE(option.dump());
      for (const char* field : {"name", "default", "accepts", "doc"}) {
        EXPECT_FALSE(option.at(field).get<std::string>().empty());
      }
    }
  }
}

// So that other programs need not read a range out of a sentence.
TEST(Engines, GiveTypesAndRangesOfTheirOptionsAsFields) {
  const nlohmann::json options = run_program("--json engines scan").last_line().at("options");
  const auto option = [&options](const std::string& name) {
    for (const nlohmann::json& each : options) {
      if (each.at("name") == name) {
        return each;
      }
    }
    return nlohmann::json();
  };
  const nlohmann::json when = option("when"), chunk = option("chunk"), to = option("tolerance");
  EXPECT_EQ(when.at("type"), "choice");
  EXPECT_EQ(when.at("choices"), nlohmann::json({"auto", "always", "faster", "never"}));
  EXPECT_FALSE(when.contains("min") || when.contains("max"));
  EXPECT_EQ(chunk.at("type"), "integer");
  EXPECT_TRUE(chunk.at("min").is_number_integer());
  EXPECT_EQ(chunk.at("min"), 0);
  EXPECT_EQ(chunk.at("max"), 1'000'000'000);
  EXPECT_FALSE(chunk.contains("choices"));
  EXPECT_EQ(to.at("type"), "number");
  EXPECT_EQ(to.at("max"), 1.0);
  const nlohmann::json epochs = run_program("--json recipes spirals").last_line().at("options")[0];
  EXPECT_TRUE(epochs.contains("type")) << epochs;
}

TEST(Recipes, AreListedWithTheirOptions) {
  EXPECT_THAT(run_program("recipes").out, ContainsRegex("\nspirals +a perceptron"));
  const ProgramRun one = run_program("recipes spirals");
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.out, ContainsRegex("\narms +3 +whole number in \\[2, 8\\]"));
  EXPECT_EQ(run_program("recipes --json").last_line().at("recipes").at(0).at("name"), "spirals");
  EXPECT_EQ(run_program("recipes spirals --json").last_line().at("options").size(), 20U);
}

}  // namespace antichain::listing_test
