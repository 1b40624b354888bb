// Every mistake gets one sentence and an exit code.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

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
            "backprop, forward, hashing, likelihood, multigrid, scan"},
        Mistake{"unknown_engine_shown", "engines scam",
                "there is no gradient engine 'scam'; did you mean 'scan'? This session has: "
                "backprop, forward, hashing, likelihood, multigrid, scan"},
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
  EXPECT_EQ(run.last_line().at("error"), "there is no recipe '\uFFFD'; did you mean 'xmc'?");
}

TEST(Errors, OutputThatCannotBeWrittenIsReported) {
  // A full disk is not the user's mistake.
  for (const char* command : {"ops", "bench --steps 1", "--help", "train --help", "--version"}) {
    SCOPED_TRACE(command);
    const ProgramRun run = run_line("$antichain " + std::string(command) + " > /dev/full");
    EXPECT_EQ(run.code, 1);
    EXPECT_EQ(run.err, "antichain: cannot write 'standard output': No space left on device\n");
  }
  EXPECT_EQ(run_line("$antichain --json frobnicate > /dev/full").code, 2);
  EXPECT_EQ(run_line("$antichain ops >&-").err,
            "antichain: cannot write 'standard output': Bad file descriptor\n");
}

TEST(Errors, PathsThatCannotBeAreTheUsersMistake) {
  const TemporaryFolder folder;
  const std::string long_name(300, 'x');
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  std::filesystem::create_directories(folder / "run/run.json");
  folder.write("file", "");
  const std::string at = folder.path().string();
  for (const auto& [arguments, reason] : std::vector<std::pair<std::string, std::string>>{
           {"train --out " + at + "/" + long_name, "File name too long"},
           {"train --resume " + at + "/" + long_name, "File name too long"},
           {"train --out " + at + "/a", "Too many levels of symbolic links"},
           {"eval " + at + "/a", "Too many levels of symbolic links"},
           {"train --out " + at + "/file", "Not a directory"},
           {"train --out " + at + "/file/below", "Not a directory"},
           {"eval " + at + "/run", "Is a directory"},
           {"train --resume " + at + "/run", "Is a directory"},
           {"explain spirals --dot " + at, "Is a directory"},
           {"explain spirals --dot " + at + "/none/x", "No such file or directory"},
           {"train mnist-mlp --data " + at + "/" + long_name, "File name too long"}}) {
    SCOPED_TRACE(arguments);
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, testing::EndsWith(": " + reason + "\n"));
    EXPECT_THAT(run.err, testing::StartsWith("antichain: "));
  }
}

// By a user who is not the owner: nobody is kept from anything when root asks.
TEST(Errors, WhatMayNotBeReadOrWrittenIsTheUsersMistake) {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  folder.write("locked/run/run.json", "{}");
  folder.write("mnist/train-images-idx3-ubyte", "");
  folder.write("unreadable/run.json", "{}");
  const std::string other =
      ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  const auto run_as_other = [&](const std::string& arguments) {
    return run_line("cd /; HOME=/nonexistent XDG_CACHE_HOME=/nonexistent " + other + "$antichain " +
                    arguments);
  };
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  if (run_as_other("--version").code != 0) {
    GTEST_SKIP() << "the program cannot be run as another user here";
  }
  for (const char* name : {"locked", "mnist/train-images-idx3-ubyte", "unreadable/run.json"}) {
    std::filesystem::permissions(folder / name, std::filesystem::perms::none);
  }
  for (const std::string& arguments :
       {"eval " + at + "/locked/run", "train --resume " + at + "/locked/run",
        "train --out " + at + "/locked/new", "explain spirals --dot " + at + "/locked/dot",
        "eval " + at + "/unreadable", "train mnist-mlp --data " + at}) {
    SCOPED_TRACE(arguments);
    const ProgramRun run = run_as_other(arguments);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, testing::StartsWith("antichain: "));
    EXPECT_THAT(run.err, testing::EndsWith("Permission denied\n"));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  }
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
}

TEST(Errors, ANameWithALineEndInItIsNoSecondSentence) {
  const ProgramRun run = run_program("eval 'none\nantichain: all is well'");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err,
            "antichain: 'none\\x0aantichain: all is well' holds no run: there is no run.json\n");
}

TEST(Errors, AFileBeyondALimitIsNoSignal) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  // In blocks of 1024 bytes. The description of the run fits, its checkpoint does not.
  const ProgramRun limited =
      run_line("ulimit -f 4; $antichain train --max-steps 1 --out " + run + " > /dev/null");
  EXPECT_EQ(limited.code, 1);
  EXPECT_THAT(limited.err, testing::StartsWith("antichain: cannot write '" + run));
  EXPECT_THAT(limited.err, testing::EndsWith("': File too large\n"));
  EXPECT_EQ(run_program("train --resume " + run).code, 0);
}

// What does not fit is named, and is not the user's mistake.
TEST(Errors, AFileThatDoesNotFitIntoMemoryIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string() + "/mnist/train-images-idx3-ubyte";
  folder.write("mnist/train-images-idx3-ubyte",
               std::string("\0\0\x08\3\0\xC0\0\0\0\0\0\x1C\0\0\0\x1C", 16));
  for (const char* other : {"train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"}) {
    folder.write(std::string("mnist/") + other, "");
  }
  const ProgramRun run = run_line("truncate -s 9865003024 " + path +
                                  "; ulimit -v 1500000; $antichain train mnist-mlp "
                                  "--data " +
                                  folder.path().string() + " --out " + (folder / "run").string());
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "antichain: " + path +
                         " does not fit into memory: it says that it holds 9865003008 bytes of "
                         "elements\n");
}

TEST(Errors, NothingFromAFileIsObeyedByATerminal) {
  const TemporaryFolder folder;
  folder.write("run/run.json",
               R"({"recipe": "\u001b[31m\u0007", "seed": 0, "device": "cpu", "data": "",)"
               R"( "settings": {}})");
  folder.write("other/run.json", "{\"recipe\": \x1b[2J}");
  for (const char* name : {"run", "other"}) {
    const ProgramRun run = run_program("eval " + (folder / name).string());
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, testing::HasSubstr("does not describe a run: "));
    EXPECT_EQ(std::count_if(run.err.begin(), run.err.end(), [](char c) { return c < ' '; }), 1)
        << run.err;  // the end of the line
  }
}

// The environment is looked at before a command does anything, whether it needs threads or not.
TEST(Errors, MistakesOfTheEnvironmentAreFoundByEveryCommand) {
  const std::string sentence = " is '100000'; it must be a number of threads from 1 to 1024\n";
  for (const char* command :
       {"train", "eval x", "compare --engines scan", "gradcheck", "bench", "explain", "calibrate",
        "data list", "recipes", "passes", "engines", "ops", "--threads 2 ops"}) {
    for (const std::string variable : {"ANTICHAIN_THREADS", "OMP_NUM_THREADS"}) {
      const ProgramRun run = run_line(variable + "=100000 $antichain " + command);
      EXPECT_EQ(run.code, 2) << command;
      EXPECT_EQ(run.err, "antichain: " + variable + sentence) << command;
      EXPECT_EQ(run.out, "") << command;
    }
  }
  EXPECT_EQ(run_line("OMP_NUM_THREADS=100000 $antichain --help").code, 0);
}

}  // namespace antichain::errors_test
