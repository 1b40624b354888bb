// Counts what the suite ran, and keeps what was refused with the reason: nothing is skipped
// silently.
#pragma once

#include <map>
#include <set>
#include <string>

namespace antichain::conformance {

class CaseLog {
 public:
  void ran(const std::string& check) { ++counts_[check]; }
  void refused(const std::string& check, const std::string& op, const std::string& reason);
  /// Prints cases per check and every refusal.
  void print() const;

 private:
  std::map<std::string, int> counts_;
  std::map<std::string, std::set<std::string>> refusals_;  // reason -> ops
};

/// Returns the log of this test program, which is printed when the program ends.
CaseLog& printed_log();

}  // namespace antichain::conformance
