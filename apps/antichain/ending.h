// How the program ends: the one place where errors become sentences and exit codes.
#pragma once

#include <exception>
#include <string>

namespace antichain::app {

/// Exit codes: 0 fine, 2 the user's mistake, 1 ours or the machine's, 128 + n ended by signal n.
struct Ending {
  int code = 0;
  std::string sentence = {};  // empty: nothing is to be said
};

/// Thrown when a signal has ended a command, after everything was put in order.
struct EndedBySignal : std::exception {
  explicit EndedBySignal(int which) : signal(which) {}
  int signal;
};

/// Returns how an error ends the program.
Ending ending_of(const std::exception_ptr& error);

/// Looks out for the signals that ask a program to end (SIGINT, SIGTERM, SIGHUP) as long as it
/// lives. The first one is noted, a second one ends the program at once. What is ignored, as nohup
/// does with SIGHUP, stays ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Returns the signal that has come; 0 when none has.
  int received() const;
};

/// Prepares the streams of the program: a reader that goes away ends nothing (writing fails
/// instead), and where one of the three is closed, no file can take its place.
void prepare_streams();

}  // namespace antichain::app
