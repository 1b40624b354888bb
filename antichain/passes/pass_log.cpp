#include "antichain/passes/pass_log.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>

#include "antichain/base/error.h"
#include "antichain/base/output_file.h"
#include "antichain/graph/print.h"

namespace antichain {

namespace fs = std::filesystem;

PassLog::PassLog(const fs::path& folder) {
  if (folder.empty()) {
    return;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  for (int number = 1; !error && folder_.empty(); ++number) {
    const fs::path next = folder / std::to_string(number);
    if (fs::create_directory(next, error)) {  // also decides between programs that share a folder
      folder_ = next;
    }
  }
  require<DataError>(!error, "cannot make a folder for the graphs of passes in '{}': {}",
                     folder.string(), error.message());
}

double PassLog::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void PassLog::add(std::size_t number, std::string_view name, double seconds, Graph* graph) {
  const std::size_t before = entries_.empty() ? 0 : entries_.back().num_ops;
  const std::size_t after = graph ? graph->num_ops() : before;
  entries_.push_back({number, std::string(name), seconds, after, graph != nullptr});
  if (graph) {
    write_file(
        folder_ / fmt::format("{:02}-{}.txt", number, name),
        fmt::format("# {}: {:.3f} ms, {} ops\n{}", name, 1e3 * seconds, after, print_text(*graph)));
  }
}

std::string PassLog::table() const {
  std::string table = fmt::format("{:>2}  {:<20}{:>10}{:>8}\n", "", "pass", "ms", "ops");
  double all = 0;
  for (const Entry& entry : entries_) {
    all += entry.seconds;
    table += fmt::format("{:>2}  {:<20}{:>10.3f}{:>8}\n", entry.number, entry.name,
                         1e3 * entry.seconds, entry.changed ? std::to_string(entry.num_ops) : "-");
  }
  return table + fmt::format("{:>2}  {:<20}{:>10.3f}\n", "", "all", 1e3 * all);
}

void PassLog::finish() const {
  if (is_on()) {
    write_file(folder_ / "passes.txt", table());
  }
}

}  // namespace antichain
