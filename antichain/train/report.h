// A report on training runs as one HTML file that needs nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "antichain/train/chart.h"
#include "antichain/train/history.h"

namespace antichain {

struct ReportTable {
  std::string title;
  std::vector<std::string> headers;  // may be empty
  std::vector<std::vector<std::string>> rows;
};

struct Report {
  std::string title;
  std::vector<ReportTable> tables;
  std::vector<Chart> charts;
};

/// Runs by name, for charts that compare them.
using NamedHistories = std::vector<std::pair<std::string, History>>;

/// Draws one chart per measure ("loss", "accuracy"), a line per curve of it: "train/loss" and
/// "test/loss" of one run, or of several, whose names then stand in front.
std::vector<Chart> charts_of(const NamedHistories& histories);
/// Writes the page whole or not at all.
void write_report(const std::filesystem::path& path, const Report& report);

}  // namespace antichain
