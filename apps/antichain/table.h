// Text in aligned columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace antichain::app {

class Table {
 public:
  Table() = default;
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Returns one line per row, each behind `indent`; the headers, if any, are underlined.
  std::string str(std::string_view indent = {}) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace antichain::app
