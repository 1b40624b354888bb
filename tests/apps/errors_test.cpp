// Every mistake gets one sentence and an exit code.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"

namespace antichain::errors_test {

struct Mistake {
  const char* name;
  const char* arguments;
  const char* sentence;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, EndInOneSentenceAndCodeTwo) {
  const ProgramRun run = run_program(GetParam().arguments);
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, std::string("antichain: ") + GetParam().sentence + "\n");
  EXPECT_EQ(run.out, "");
}

TEST_P(Mistakes, AreToldInJsonToo) {
  const ProgramRun run = run_program(std::string("--json ") + GetParam().arguments);
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err, std::string("antichain: ") + GetParam().sentence + "\n");
  EXPECT_EQ(run.last_line().at("error"), GetParam().sentence);
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(
        Mistake{"no_command", "", "no command given; see `antichain --help`"},
        Mistake{"unknown_command", "run",
                "there is no command 'run'; there are: train, eval, compare, gradcheck, bench, "
                "explain, calibrate, data, recipes, passes, engines, ops"},
        Mistake{"unknown_flag", "--frobnicate",
                "The following argument was not expected: --frobnicate; see `antichain --help`"},
        Mistake{"too_many", "train spirals circles",
                "The following argument was not expected: circles; see `antichain --help`"},
        Mistake{"bad_log_level", "--log-level loud engines",
                "unknown log level 'loud'; use debug, info, warning, error or silent"},
        Mistake{"no_threads", "--threads 0 engines",
                "the number of threads must be from 1 to 1024, got 0"},
        Mistake{"bad_threads", "engines --threads two",
                "Could not convert: --threads = two; see `antichain --help`"},
        Mistake{"unknown_recipe", "train spiral",
                "there is no recipe 'spiral'; did you mean 'spirals'?"},
        Mistake{"unknown_recipe_shown", "recipes spiral",
                "there is no recipe 'spiral'; did you mean 'spirals'?"},
        Mistake{"unknown_op", "ops matmull",
                "there is no operator 'matmull'; did you mean 'matmul'?"},
        Mistake{"bad_seed", "train --seed one",
                "Could not convert: --seed = one; see `antichain --help`"},
        Mistake{"bad_size", "bench --memory-budget 12parsec",
                "'12parsec' is no size; write a number of bytes, or one with B, KB, MB, GB, TB, "
                "KiB, MiB, GiB or TiB, such as 64MiB"},
        Mistake{"set_without_value", "train --set epochs", "--set takes NAME=VALUE, got 'epochs'"},
        Mistake{
            "unknown_option", "train --set epoch=1",
            "recipe 'spirals' has no option 'epoch'; did you mean 'epochs'? (`antichain recipes "
            "spirals` lists them)"},
        Mistake{"bad_value", "train --set epochs=ten",
                "option 'epochs' must be a whole number, got 'ten'"},
        Mistake{"out_of_range", "train --set epochs=0",
                "option 'epochs' must be within [1, 1000000], got 0"},
        Mistake{
            "unknown_engine", "train --engine bakcprop",
            "there is no gradient engine 'bakcprop'; did you mean 'backprop'? This session has: "
            "backprop, forward, scan"},
        Mistake{"unknown_engine_option", "train --engine scan:chunks=3",
                "engine 'scan' has no option 'chunks'; did you mean 'chunk'? (`antichain engines "
                "scan` lists them)"},
        Mistake{"bad_engine_option", "train --engine scan:when=often",
                "option 'when' must be one of auto, always, faster, never, got 'often'"},
        Mistake{"unknown_pass", "train --disable-pass fuse",
                "there is no pass 'fuse'; did you mean 'fuse-products'?"},
        Mistake{"unknown_level", "train --level 4",
                "there is no optimisation level 4; there are 0 to 3"},
        Mistake{"unknown_device", "train --device gpu",
                "unknown device 'gpu'; use cpu, cuda or cuda:N"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Errors, ADeviceThatIsNotThereIsTheUsersMistake) {
  const ProgramRun run = run_program("train --device cuda:99");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, testing::StartsWith("antichain: device 'cuda:99' is not available"));
}

TEST(Errors, ALossThatRunsAwayIsReported) {
  const TemporaryFolder folder;
  const ProgramRun run = run_program("train --set lr=1e20 --out " + (folder / "run").string());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, testing::HasSubstr("antichain: the loss is "));
  EXPECT_THAT(run.err, testing::HasSubstr("a smaller lr may help"));
}

TEST(Errors, BytesThatAreNotUtf8AreReplacedInJson) {
  const ProgramRun run = run_program("train --json \"$(printf '\\351')\"");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.last_line().at("error"), "there is no recipe '\uFFFD'; did you mean 'spirals'?");
}

TEST(Errors, OutputThatCannotBeWrittenIsReported) {
  // The shell leaves before it gets to where run_program() sends the output.
  for (const char* command : {"ops", "bench --steps 1", "--json frobnicate"}) {
    SCOPED_TRACE(command);
    EXPECT_EQ(run_program(std::string(command) + " > /dev/full 2>&1; exit $?; true").code, 2);
  }
}

}  // namespace antichain::errors_test
