// `antichain run`.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/apps/run_program.h"

namespace antichain {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShort = " --set epochs=2 --set hidden=5 --set batch=500";

TEST(Run, EndsInATable) {
  const ProgramRun run = run_program(std::string("run") + kShort);
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, ContainsRegex("\nengine +backprop\n"));
  EXPECT_THAT(run.out, ContainsRegex("\ntest accuracy +[0-9]+\\.[0-9] %\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nsteps +4\n"));
}

TEST(Run, WritesPlainLinesWithoutATerminal) {
  const ProgramRun run = run_program("run spirals --set hidden=5 --set batch=10 --set epochs=3");
  EXPECT_THAT(run.out, ContainsRegex("^epoch [0-9]/3  loss "));
  EXPECT_THAT(run.out, HasSubstr("0:00 left\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("\r")));
  // Three hundred steps, a line per second.
  EXPECT_LT(std::count(run.out.begin(), run.out.end(), '\n'), 60);
}

TEST(Run, DrawsABarOnATerminal) {
  const ProgramRun run = run_program_on_terminal(std::string("run") + kShort);
  if (run.code == 127) {
    GTEST_SKIP() << "there is no `script` here";
  }
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, ContainsRegex("\repoch 2/2 \\[#+\\] loss "));
  EXPECT_THAT(run.out, ContainsRegex("test accuracy +[0-9]"));
}

TEST(Run, ReportsInJson) {
  const ProgramRun run = run_program(std::string("run --json --seed 7 --device cpu") + kShort);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("epoch 2/2"));
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
  const nlohmann::json result = run.last_line();
  EXPECT_EQ(result.at("recipe"), "spirals");
  EXPECT_EQ(result.at("seed"), 7);
  EXPECT_EQ(result.at("device"), "cpu");
  EXPECT_EQ(result.at("settings").at("hidden"), 5);
  EXPECT_EQ(result.at("settings").at("lr"), 0.1);
  EXPECT_EQ(result.at("settings").at("engine"), "backprop");
  EXPECT_EQ(result.at("metrics").at("steps"), 4);
  EXPECT_GT(result.at("metrics").at("train_loss"), 0);
  EXPECT_GT(result.at("metrics").at("samples_per_second"), 0);
}

double train_loss(const std::string& arguments) {
  return run_program("run --json " + arguments + kShort).last_line().at("metrics").at("train_loss");
}

TEST(Run, TheSeedDeterminesTheResult) {
  EXPECT_EQ(train_loss("--seed -3"), train_loss("--seed -3"));
  EXPECT_NE(train_loss("--seed -3"), train_loss("--seed 3"));
}

TEST(Run, EnginesAgreeAndCanBeNamedInTwoWays) {
  const double backprop = train_loss(""), forward = train_loss("--engine forward");
  EXPECT_NEAR(forward, backprop, 1e-4 * backprop);
  EXPECT_EQ(train_loss("--set engine=forward"), forward);
}

TEST(Run, LogsWhatItIsAskedFor) {
  const ProgramRun quiet = run_program(std::string("run --log-level silent") + kShort);
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
}

}  // namespace
}  // namespace antichain
