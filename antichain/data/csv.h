// CSV: records of fields, separated by commas, in double quotes where needed (RFC 4180), UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/data/text_lines.h"

namespace antichain::data {

class CsvReader {
 public:
  explicit CsvReader(ByteSource& source) : chars_(source) {}
  /// Moves to the next record and returns true, or returns false at the end. Empty lines are
  /// skipped. Throws DataError on quotes that do not fit.
  bool next(std::vector<std::string>& fields);
  /// Returns where the last record is, for messages.
  FileLine line_in_file() const { return {chars_.name(), number_}; }

 private:
  /// Reads one field and returns the character that ended it; nothing at the end of the file.
  std::optional<char> read_field(std::optional<char> first, std::string& field);
  std::optional<char> read_quoted(std::string& field);

  CharReader chars_;
  std::int64_t number_ = 0;
};

}  // namespace antichain::data
