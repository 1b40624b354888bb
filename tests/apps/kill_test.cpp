// A run that is killed at any moment, again and again, ends with the same bits as one that was not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/apps/run_program.h"
#include "tests/base/temporary_folder.h"

namespace antichain {
namespace {

// Checkpoints after every step: most of the time goes into writing them, so that is where most
// kills fall, and all others into the middle of an epoch.
constexpr const char* kRun = " --epochs 20 --batch 100 --set hidden=5 --checkpoint-every 1 ";

// Starts the program and kills it after a while; returns whether it had ended by itself.
bool run_and_kill(const std::string& arguments, std::chrono::steady_clock::duration after) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string line = "exec " ANTICHAIN_PROGRAM " " + arguments + " > /dev/null 2>&1";
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string final_weights(const std::string& folder) {
  return read_text(folder + "/checkpoints/step-00000200-final/model.safetensors");
}

TEST(Kill, AResumedRunEndsWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole", killed = folder / "killed";
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_program("train --out " + whole + kRun).code, 0);
  const auto duration = std::chrono::steady_clock::now() - start;
  const std::string expected = final_weights(whole);
  ASSERT_FALSE(expected.empty());

  bool ended = run_and_kill("train --out " + killed + kRun, duration / 3);
  int kills = ended ? 0 : 1;
  constexpr int kMostKills = 200;
  for (; !ended && kills < kMostKills; ++kills) {
    // Longer and longer, so that the run gets to its end at last.
    ended = run_and_kill("train --checkpoint-every 1 --resume " + killed,
                         duration / 4 + kills * duration / 40);
  }
  ASSERT_TRUE(ended) << kills;
  EXPECT_GT(kills, 2);
  EXPECT_EQ(final_weights(killed), expected);
}

}  // namespace
}  // namespace antichain
