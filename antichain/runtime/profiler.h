// Profiler: where the time of a run goes, as a table and as a Chrome trace.
#pragma once

#include <string>
#include <vector>

#include "antichain/runtime/run_observer.h"

namespace antichain {

/// What the ops of one kind and kernel cost together.
struct ProfileRow {
  std::string op;
  std::string kernel;
  std::int64_t count = 0;
  double seconds = 0;      // without the ops of inner regions
  std::int64_t bytes = 0;  // read and written
};

class Profiler final : public RunObserver {
 public:
  void ran(const OpEvent& event) override;

  /// Returns a row per kind of op and kernel, the dearest first.
  std::vector<ProfileRow> rows() const;
  /// Returns the rows as an aligned table.
  std::string table() const;
  /// Returns every op that ran as JSON for chrome://tracing or Perfetto.
  std::string chrome_trace() const;

 private:
  struct Event {
    std::string op, kernel, where;
    std::chrono::steady_clock::time_point start;
    double seconds, own_seconds;
    std::int64_t bytes;
  };
  std::vector<Event> events_;      // in the order in which they ended
  std::vector<std::size_t> open_;  // finished events that no region op has claimed yet
};

}  // namespace antichain
