// Lines of a text, and numbers in them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/data/byte_source.h"

namespace antichain::data {

/// Names a line or record of a file; written as "file:number", but only when it is.
struct FileLine {
  std::string_view file;
  std::int64_t number = 0;  // counted from 1
};

/// Gives the characters of a source one by one.
class CharReader {
 public:
  explicit CharReader(ByteSource& source) : source_(source), buffer_(std::size_t{1} << 16) {}
  /// Returns the next character, or nothing at the end.
  std::optional<char> next() {
    if (at_ == size_) {
      size_ = source_.read(std::as_writable_bytes(std::span(buffer_)));
      at_ = 0;
      if (size_ == 0) {
        return std::nullopt;
      }
    }
    return buffer_[at_++];
  }
  /// Appends what comes before `end` to `text` and skips `end`, or reads to the end of the source.
  /// Stops when `text` has more than `most` characters.
  void append_until(char end, std::string& text, std::size_t most);
  const std::string& name() const { return source_.name(); }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, size_ = 0;
};

/// Gives the lines of a source, ended by LF or CR LF.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : chars_(source) {}
  /// Moves to the next line and returns true, or returns false at the end. `line` is valid until
  /// the next call.
  bool next(std::string_view& line);
  /// Returns where the last line is, for messages.
  FileLine line_in_file() const { return {chars_.name(), number_}; }

 private:
  CharReader chars_;
  std::string line_;
  std::int64_t number_ = 0;
};

/// Cuts the part before the first of `separators` off `text`, and the separator.
std::string_view cut(std::string_view& text, std::string_view separators);

/// Reads a whole number within [least, most]; throws DataError naming the place and `what` it is.
std::int64_t parse_within(std::string_view text, std::int64_t least, std::int64_t most,
                          const char* what, const LineReader& lines);
/// Reads a source of one whole number within [least, most] a line, `what` they are.
std::vector<std::int64_t> read_integers(ByteSource& source, std::int64_t least, std::int64_t most,
                                        const char* what);
/// Reads all lines that are not empty.
std::vector<std::string> read_lines(ByteSource& source);

}  // namespace antichain::data

template <>
struct fmt::formatter<antichain::data::FileLine> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const antichain::data::FileLine& line, Context& context) const {
    return fmt::format_to(context.out(), "{}:{}", line.file, line.number);
  }
};
