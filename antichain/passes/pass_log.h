// PassLog: what each pass of one compilation took, and the graph that it made.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Writes a text file per pass that changed something, "14-fuse-elementwise.txt", and the times of
/// all of them, "passes.txt", into a folder of its own: the first free one of 1, 2, ... within
/// `folder`. Does nothing when that is empty.
class PassLog {
 public:
  PassLog() = default;
  /// Throws DataError when the folder cannot be made.
  explicit PassLog(const std::filesystem::path& folder);

  bool is_on() const { return !folder_.empty(); }
  const std::filesystem::path& folder() const { return folder_; }

  /// Calls f, which returns the graph that a pass made, or nullptr if it found nothing to do, and
  /// returns whether there was something. `number` is the pass's on the list, 0 for the graph as it
  /// was built.
  template <class F>
  bool time(std::size_t number, std::string_view name, F&& f) {
    const double start = now();
    Graph* const graph = f();
    if (is_on()) {
      add(number, name, now() - start, graph);
    }
    return graph != nullptr;
  }
  /// Returns a line per pass: its number and name, milliseconds, and the ops of the graph after it.
  std::string table() const;
  /// Writes the table.
  void finish() const;

 private:
  struct Entry {
    std::size_t number;
    std::string name;
    double seconds;
    std::size_t num_ops;  // of the graph after it
    bool changed;
  };

  static double now();
  void add(std::size_t number, std::string_view name, double seconds, Graph* graph);

  std::filesystem::path folder_;
  std::vector<Entry> entries_;
};

}  // namespace antichain
