#include "antichain/data/text_lines.h"

#include <algorithm>

#include "antichain/base/parse_number.h"

namespace antichain::data {

namespace {

// No line of a set that is read here comes near; a file without line ends would fill the memory.
constexpr std::size_t kMaxLine = std::size_t{1} << 24;  // bytes

// What stands in a message of what was found.
std::string_view shortened(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return text.substr(0, kShown);
}

}  // namespace

void CharReader::append_until(char end, std::string& text, std::size_t most) {
  for (std::optional<char> c = next(); c && *c != end && text.size() <= most; c = next()) {
    --at_;  // it is the first of a piece
    const std::string_view rest(buffer_.data() + at_, size_ - at_);
    const std::size_t length = std::min(rest.find(end), rest.size());
    text.append(rest.substr(0, length));
    at_ += length;
  }
}

bool LineReader::next(std::string_view& line) {
  line_.clear();
  const std::optional<char> c = chars_.next();
  if (!c) {
    return false;
  }
  ++number_;
  if (*c != '\n') {
    line_ += *c;
    chars_.append_until('\n', line_, kMaxLine);
    require<DataError>(line_.size() <= kMaxLine, "{}: a line of more than {} bytes", line_in_file(),
                       kMaxLine);
  }
  if (!line_.empty() && line_.back() == '\r') {
    line_.pop_back();
  }
  line = line_;
  return true;
}

std::string_view cut(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::int64_t parse_within(std::string_view text, std::int64_t least, std::int64_t most,
                          const char* what, const LineReader& lines) {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(text);
  require<DataError>(number && *number >= least && *number <= most,
                     "{}: {} must be a whole number within [{}, {}], found '{}'",
                     lines.line_in_file(), what, least, most, shortened(text));
  return *number;
}

std::vector<std::int64_t> read_integers(ByteSource& source, std::int64_t least, std::int64_t most,
                                        const char* what) {
  LineReader lines(source);
  std::vector<std::int64_t> numbers;
  for (std::string_view line; lines.next(line);) {
    numbers.push_back(parse_within(line, least, most, what, lines));
  }
  return numbers;
}

std::vector<std::string> read_lines(ByteSource& source) {
  LineReader lines(source);
  std::vector<std::string> all;
  for (std::string_view line; lines.next(line);) {
    if (!line.empty()) {
      all.emplace_back(line);
    }
  }
  return all;
}

}  // namespace antichain::data
