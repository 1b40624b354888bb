// What passes write down when they are asked to.
#include "antichain/passes/pass_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/passes/pipeline.h"
#include "tests/base/temporary_folder.h"

namespace antichain::pass_log_test {

namespace fs = std::filesystem;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

GraphCopy compiled(const CompilerOptions& options) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n"});
  return run_passes(graph, {{exp(x * 1) + 1}}, {}, options);
}

// The number by which a pass is listed and its file is named.
std::string number_of(std::string_view pass) {
  const auto found = std::ranges::find(passes(), pass, &Pass::name);
  return fmt::format("{:02}", found - passes().begin() + 1);
}

TEST(PassLog, EveryPassThatChangesSomethingHasAFile) {
  const TemporaryFolder folder;
  compiled({.dump_folder = folder / "dump"});
  EXPECT_THAT(read_text(folder / "dump/1/00-built.txt"), HasSubstr("multiply("));
  const std::string simple =
      read_text(folder / ("dump/1/" + number_of("simplify") + "-simplify.txt"));
  EXPECT_THAT(simple, ContainsRegex("^# simplify: [0-9.]+ ms, [0-9]+ ops\n"));
  EXPECT_THAT(simple, HasSubstr("exp(x)"));  // not of x * 1
  const std::string fused = number_of("fuse-elementwise") + "-fuse-elementwise.txt";
  EXPECT_THAT(read_text(folder / "dump/1" / fused), HasSubstr(" = fused("));
  EXPECT_FALSE(fs::exists(folder / "dump/1/01-release-waits.txt"));
  const std::string table = read_text(folder / "dump/1/passes.txt");
  EXPECT_THAT(table, ContainsRegex("\n 1  release-waits +[0-9.]+ +-\n"));
  EXPECT_THAT(table, ContainsRegex("\n 5  simplify +[0-9.]+ +[0-9]+\n"));
  EXPECT_THAT(table, ContainsRegex("\n    all +[0-9.]+\n"));
  EXPECT_THAT(table, Not(HasSubstr("split-chains")));  // for other devices
}

TEST(PassLog, EveryCompilationHasAFolder) {
  const TemporaryFolder folder;
  compiled({.level = 1, .dump_folder = folder.path()});
  compiled({.level = 0, .dump_folder = folder.path()});
  EXPECT_TRUE(fs::exists(folder / "1/05-simplify.txt"));
  EXPECT_TRUE(fs::exists(folder / "2/00-built.txt"));
  EXPECT_FALSE(fs::exists(folder / "2/05-simplify.txt"));
  EXPECT_FALSE(fs::exists(folder / "3"));
}

TEST(PassLog, OnlyWhereItCanBeWritten) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "");
  try {
    compiled({.dump_folder = file});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith(fmt::format(
                    "cannot make a folder for the graphs of passes in '{}': ", file.string())));
  }
}

}  // namespace antichain::pass_log_test
