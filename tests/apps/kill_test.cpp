// A run that is killed at any moment, again and again, ends with the same bits as one that was not.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"
#include "tests/build_paths.h"

namespace antichain::kill_test {

// Checkpoints after every step: most of the time goes into writing them, so that is where most
// kills fall, and all others into the middle of an epoch. So many epochs that no run ends by itself
// before it is killed, however late this process comes to it.
constexpr const char* kRun = " --epochs 1000000 --batch 100 --set hidden=5 --checkpoint-every 1 ";

constexpr int kKills = 12;
constexpr std::int64_t kStepsBetween = 5;

// The number in the name of the newest checkpoint of a run; 0 before there is one.
std::int64_t newest_step(const std::filesystem::path& run) {
  std::int64_t newest = 0;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints", none_yet)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("step-")) {
      newest = std::max<std::int64_t>(newest, std::atoll(name.c_str() + 5));
    }
  }
  return newest;
}

// Starts the program and kills it some time after it has written a checkpoint of step `step` or a
// later one; returns how it ended. A kill follows what the run has done and not the clock: how long
// a run takes depends on what else the machine does.
int status_of_killed(const std::string& arguments, const std::filesystem::path& run,
                     std::int64_t step, std::chrono::microseconds later) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string line = "exec " + program_file() + " " + arguments + " > /dev/null 2>&1";
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (newest_step(run) < step) {
    if (waitpid(child, &status, WNOHANG) == child) {
      return status;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::this_thread::sleep_for(later);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return status;
}

std::string final_weights(const std::string& folder, std::int64_t step) {
  return read_text(folder + fmt::format("/checkpoints/step-{:08}-final/model.safetensors", step));
}

TEST(Kill, AResumedRunEndsWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string killed = folder / "killed", whole = folder / "whole";
  std::mt19937 random(1);
  std::uniform_int_distribution<int> microseconds(0, 4000);  // a step with its checkpoint, or two
  for (int kills = 0; kills < kKills; ++kills) {
    const std::string start =
        kills == 0 ? "--out " + killed + kRun : "--checkpoint-every 1 --resume " + killed;
    const int status =
        status_of_killed("train " + start, killed, newest_step(killed) + kStepsBetween,
                         std::chrono::microseconds(microseconds(random)));
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << kills << ": " << status;
  }
  // Where that is depends on when the kills came; the run that nobody kills goes as far.
  const std::int64_t steps = newest_step(killed) + kStepsBetween;
  const std::string end = fmt::format(" --max-steps {} ", steps);
  ASSERT_EQ(run_program("train --checkpoint-every 1 --resume " + killed + end).code, 0);
  ASSERT_EQ(run_program("train --out " + whole + kRun + end).code, 0);
  EXPECT_FALSE(final_weights(whole, steps).empty());
  EXPECT_EQ(final_weights(killed, steps), final_weights(whole, steps));
}

}  // namespace antichain::kill_test
