#include "tests/apps/run_program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/build_paths.h"

namespace antichain {

namespace {

// Reads a file and removes it.
std::string take(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

ProgramRun run_shell(const std::string& command) {
  const std::string base = testing::TempDir() + "antichain_apps_" + std::to_string(getpid());
  const std::string line = command + " > " + base + ".out 2> " + base + ".err < /dev/null";
  const int status = std::system(line.c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = take(base + ".out"),
          .err = take(base + ".err")};
}

}  // namespace

nlohmann::json ProgramRun::last_line() const {
  const std::size_t end = out.find_last_not_of('\n');
  const std::size_t start = out.rfind('\n', end);
  return nlohmann::json::parse(out.substr(start == std::string::npos ? 0 : start + 1));
}

ProgramRun run_program(const std::string& arguments) {
  return run_shell(program_file() + " " + arguments);
}

ProgramRun run_line(const std::string& line) {
  ::setenv("antichain", program_file().c_str(), 1);
  ::setenv("ANTICHAIN_LINE", line.c_str(), 1);  // needs no quoting
  return run_shell("bash -c 'eval \"$ANTICHAIN_LINE\"'");
}

ProgramRun run_program_on_terminal(const std::string& arguments) {
  return run_shell("TERM=xterm script -qec '" + program_file() + " " + arguments + "' /dev/null");
}

}  // namespace antichain
