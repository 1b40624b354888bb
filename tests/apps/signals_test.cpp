// Whatever ends a training, it leaves a checkpoint; and nobody disturbs one that runs.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"

namespace antichain::signals_test {

using testing::HasSubstr;

// Long enough that nothing ends by itself while something is done to it.
constexpr const char* kLong = " --epochs 100000 --set hidden=5 --out ";

// Waits until a run has begun to write checkpoints.
std::string wait_for(const std::string& run) {
  return "for i in $(seq 2400); do ls " + run +
         "/checkpoints/step-* > /dev/null 2>&1 && break; sleep 0.05; done; ";
}

struct Signal {
  const char* name;
  int code;
};

class Signals : public testing::TestWithParam<Signal> {};

TEST_P(Signals, EndARunWithACheckpoint) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  // The shell of a script ignores SIGINT for what it starts in the background, so `setsid` and a
  // subshell that takes it back cannot be used: `env` can.
  const ProgramRun ended =
      run_line("env --default-signal=INT $antichain train --checkpoint-every 50" +
               std::string(kLong) + run + " > " + run + ".out & child=$!; " + wait_for(run) +
               "kill -" + GetParam().name + " $child; wait $child");
  EXPECT_EQ(ended.code, GetParam().code) << ended.err;
  const std::string out = read_text(run + ".out");
  EXPECT_THAT(out, HasSubstr("Stopped; go on with: antichain train --resume " + run));
  const ProgramRun evaluated = run_program("--json eval " + run);
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  // Of the very step that was the last, not of an earlier one.
  EXPECT_THAT(
      out, testing::ContainsRegex("\nsteps +" + evaluated.last_line().at("steps").dump() + "\n"));
  // And from there it goes on.
  EXPECT_EQ(
      run_line("$antichain train --resume " + run + " > /dev/null & sleep 0.5; kill $!; wait $!")
          .code,
      143);
}

INSTANTIATE_TEST_SUITE_P(All, Signals,
                         testing::Values(Signal{"INT", 130}, Signal{"TERM", 143},
                                         Signal{"HUP", 129}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Signals, WhatIsIgnoredStaysIgnored) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  EXPECT_EQ(run_line("trap '' HUP; $antichain train --checkpoint-every 50" + std::string(kLong) +
                     run + " > /dev/null & child=$!; " + wait_for(run) +
                     "kill -HUP $child; sleep 0.3; kill -TERM $child; wait $child")
                .code,
            143);
}

// Whoever reads the progress may go away: the training goes on and ends as it would.
TEST(Signals, ReadersThatGoAwayEndNothing) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  // It begins when the reader has gone, so that it does not depend on who of them is quicker.
  const ProgramRun piped = run_line(
      "{ trap '' PIPE; while echo; do sleep 0.01; done 2> /dev/null; "
      "$antichain train --epochs 40 --checkpoint-every 50 --out " +
      run + "; echo $? >&2; } | head -n 1 > /dev/null");
  EXPECT_EQ(piped.err, "141\n");  // there is nobody to tell the result to
  const ProgramRun evaluated = run_program("--json eval " + run);
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(evaluated.last_line().at("epochs"), 40);
  EXPECT_TRUE(std::filesystem::exists(run + "/report.html"));
  EXPECT_EQ(run_line("$antichain train --epochs 2 --out " + run + "-2 > /dev/full").code, 1);
  EXPECT_EQ(run_program("eval " + run + "-2").code, 0);
  EXPECT_EQ(run_line("$antichain ops | head -n 1 > /dev/null; echo ${PIPESTATUS[0]}").err, "");
}

TEST(Signals, ClosedStreamsAreNotTakenForFiles) {
  const TemporaryFolder folder;
  const std::string run = folder / "run", usual = folder / "usual";
  EXPECT_EQ(run_line("$antichain train --epochs 2 --out " + run + " >&- 2>&- <&-").code, 2);
  EXPECT_EQ(run_line("$antichain train --epochs 2 --out " + usual).code, 0);
  const std::string model = "/checkpoints/step-00000040-final/model.safetensors";
  EXPECT_EQ(read_text(run + model), read_text(usual + model));
  EXPECT_EQ(read_text(run + "/run.json"), read_text(usual + "/run.json"));
}

TEST(Signals, ASecondTrainingDoesNotDisturbTheFirst) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const ProgramRun both = run_line("$antichain train --checkpoint-every 20" + std::string(kLong) +
                                   run + " > /dev/null & child=$!; " + wait_for(run) +
                                   "for i in 1 2 3; do $antichain train --resume " + run +
                                   "; echo $?; done; $antichain eval " + run +
                                   " > /dev/null; echo eval $?; kill $child; wait $child");
  EXPECT_EQ(both.code, 143);
  EXPECT_EQ(both.out, "2\n2\n2\neval 0\n");
  const std::string sentence =
      "antichain: '" + run + "' is in use: another training is running in it\n";
  EXPECT_EQ(both.err, sentence + sentence + sentence);
}

TEST(Signals, TwoRunsThatStartInOneFolderAreOne) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const ProgramRun both =
      run_line("for i in 1 2 3 4 5; do rm -rf " + run +
               "; for seed in 1 2 3; do $antichain train --epochs 2 "
               "--seed $seed --out " +
               run + " > " + folder.path().string() + "/out$seed 2> /dev/null & done; wait; cat " +
               folder.path().string() + "/out? | grep -c '^seed'; $antichain eval " + run +
               " > /dev/null || echo unreadable; done");
  EXPECT_EQ(both.out, "1\n1\n1\n1\n1\n");
}

}  // namespace antichain::signals_test
