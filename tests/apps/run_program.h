// Runs the built program as a user does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace antichain {

struct ProgramRun {
  int code = -1;  // exit code; -1 when the program was killed
  std::string out, err;

  /// Returns the last line of standard output, parsed; throws when it is not JSON.
  nlohmann::json last_line() const;
};

/// Runs `antichain <arguments>`; the arguments are written for a shell.
ProgramRun run_program(const std::string& arguments);
/// Runs a line for bash, in which $antichain is the program.
ProgramRun run_line(const std::string& line);
/// Runs it on a terminal; everything arrives in `out`.
ProgramRun run_program_on_terminal(const std::string& arguments);

}  // namespace antichain
