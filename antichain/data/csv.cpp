#include "antichain/data/csv.h"

#include "antichain/base/error.h"

namespace antichain::data {

namespace {

constexpr std::size_t kMaxField = std::size_t{1} << 24;  // bytes; a lost quote would fill memory
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  std::optional<char> c = chars_.next();
  while (c == '\n' || c == '\r') {
    c = chars_.next();
  }
  if (!c) {
    return false;
  }
  ++number_;
  if (number_ == 1 && *c == kByteOrderMark[0]) {
    require<DataError>(chars_.next() == kByteOrderMark[1] && chars_.next() == kByteOrderMark[2],
                       "{} does not begin as UTF-8 does", chars_.name());
    c = chars_.next();
  }
  for (;; c = chars_.next()) {
    const std::optional<char> end = read_field(c, fields.emplace_back());
    if (end != ',') {
      return true;
    }
  }
}

std::optional<char> CsvReader::read_field(std::optional<char> first, std::string& field) {
  std::optional<char> c = first == '"' ? read_quoted(field) : first;
  const bool quoted = first == '"';
  for (; c && *c != ',' && *c != '\n'; c = chars_.next()) {
    if (*c == '\r') {
      continue;
    }
    require<DataError>(!quoted && *c != '"', "{}: a double quote in the middle of a field",
                       line_in_file());
    require<DataError>(field.size() < kMaxField, "{}: a field of more than {} bytes",
                       line_in_file(), kMaxField);
    field += *c;
  }
  return c;
}

std::optional<char> CsvReader::read_quoted(std::string& field) {
  for (std::optional<char> c = chars_.next(); c; c = chars_.next()) {
    if (*c == '"') {
      c = chars_.next();
      if (c != '"') {
        return c;
      }
    }
    require<DataError>(field.size() < kMaxField, "{}: a field of more than {} bytes",
                       line_in_file(), kMaxField);
    field += *c;
  }
  fail<DataError>("{}: the file ends inside double quotes", line_in_file());
}

}  // namespace antichain::data
