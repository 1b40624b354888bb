// A run that is killed at any moment, again and again, ends with the same bits as one that was not.
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
// kills fall, and all others into the middle of an epoch.
constexpr const char* kRun = " --epochs 20 --batch 100 --set hidden=5 --checkpoint-every 1 ";

constexpr std::int64_t kSteps = 200;

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
// later one; returns whether it had ended by itself. A kill follows what the run has done and not
// the clock: how long a run takes depends on what else the machine does.
bool run_and_kill(const std::string& arguments, const std::filesystem::path& run, std::int64_t step,
                  std::chrono::microseconds later) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string line = "exec " + program_file() + " " + arguments + " > /dev/null 2>&1";
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (newest_step(run) < step) {
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::this_thread::sleep_for(later);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string final_weights(const std::string& folder) {
  return read_text(folder + "/checkpoints/step-00000200-final/model.safetensors");
}

TEST(Kill, AResumedRunEndsWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole", killed = folder / "killed";
  ASSERT_EQ(run_program("train --out " + whole + kRun).code, 0);
  const std::string expected = final_weights(whole);
  ASSERT_FALSE(expected.empty());

  std::mt19937 random(1);
  std::uniform_int_distribution<int> microseconds(0, 4000);  // a step with its checkpoint, or two
  int kills = 0;
  for (bool ended = false; !ended;) {
    const std::string start =
        kills == 0 ? "--out " + killed + kRun : "--checkpoint-every 1 --resume " + killed;
    // A step behind the last one is never reached: that run ends by itself.
    ended = run_and_kill("train " + start, killed, newest_step(killed) + kSteps / 16,
                         std::chrono::microseconds(microseconds(random)));
    kills += ended ? 0 : 1;
    ASSERT_LT(kills, 100) << newest_step(killed);
  }
  EXPECT_GT(kills, 2);
  EXPECT_EQ(final_weights(killed), expected);
}

}  // namespace antichain::kill_test
