#include "tests/conformance/case_log.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace antichain::conformance {

void CaseLog::refused(const std::string& check, const std::string& op, const std::string& reason) {
  refusals_[check + ": " + reason].insert(op);
}

void CaseLog::print() const {
  int total = 0;
  fmt::print("\nconformance: cases (op x sample x dtype) per check\n");
  for (const auto& [check, count] : counts_) {
    fmt::print("  {:<36} {:>6}\n", check, count);
    total += count;
  }
  fmt::print("  {:<36} {:>6}\n\nconformance: refused\n", "total", total);
  for (const auto& [reason, ops] : refusals_) {
    std::string names;
    for (const std::string& op : ops) {
      names += (names.empty() ? "" : " ") + op;
    }
    fmt::print("  {} [{}]\n", reason, names);
  }
}

namespace {

class PrintAtTheEnd : public testing::Environment {
 public:
  void TearDown() override { log.print(); }
  CaseLog log;
};

// GoogleTest owns it and wants it before the tests begin.
PrintAtTheEnd* const environment =
    static_cast<PrintAtTheEnd*>(testing::AddGlobalTestEnvironment(new PrintAtTheEnd));

}  // namespace

CaseLog& printed_log() { return environment->log; }

}  // namespace antichain::conformance
