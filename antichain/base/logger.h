// A logger that is passed to whoever needs it: the session owns one, nothing is global.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace antichain {

enum class LogLevel { debug, info, warning, error, silent };

/// Returns the level called `name`; throws InvalidArgument that lists the levels otherwise.
LogLevel parse_log_level(std::string_view name);

/// Writes lines at or above its level to a sink (standard error unless told otherwise).
class Logger {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  explicit Logger(LogLevel level = LogLevel::warning, Sink sink = {});

  LogLevel level() const { return level_; }

  /// Writes a line; `silent` is a level for loggers, not for lines, so such a line is dropped.
  template <class... Args>
  void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
    if (level >= level_ && level != LogLevel::silent) {
      write(level, fmt::format(format, std::forward<Args>(args)...));
    }
  }

 private:
  void write(LogLevel level, const std::string& line) const;

  LogLevel level_;
  Sink sink_;
};

}  // namespace antichain
