#include "apps/antichain/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace antichain::app {

namespace {

constexpr std::string_view kGap = "  ";

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 std::string_view indent) {
  std::string text(indent);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();  // not padded: no blanks at the end of a line
    text += last ? cells[i] : fmt::format("{:<{}}{}", cells[i], widths[i], kGap);
  }
  return text + "\n";
}

}  // namespace

std::string Table::str(std::string_view indent) const {
  std::vector<std::vector<std::string>> lines = rows_;
  if (!headers_.empty()) {
    lines.insert(lines.begin(), headers_);
  }
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& cells : lines) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  if (!headers_.empty()) {
    std::vector<std::string> rules;
    for (const std::string& header : headers_) {
      rules.emplace_back(header.size(), '-');
    }
    lines.insert(lines.begin() + 1, rules);
  }
  std::string text;
  for (const std::vector<std::string>& cells : lines) {
    text += line(cells, widths, indent);
  }
  return text;
}

}  // namespace antichain::app
