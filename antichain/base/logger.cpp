#include "antichain/base/logger.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "antichain/base/error.h"
#include "antichain/base/printable.h"

namespace antichain {

namespace {
constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "silent"};
}

LogLevel parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) {
      return static_cast<LogLevel>(i);
    }
  }
  fail<InvalidArgument>("unknown log level '{}'; use debug, info, warning, error or silent", name);
}

Logger::Logger(LogLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}

void Logger::write(LogLevel level, const std::string& line) const {
  if (sink_) {
    sink_(level, line);
  } else {
    // Not by fmt::print(), which throws when it cannot write.
    std::fputs(fmt::format("antichain {}: {}\n", kLevelNames[static_cast<std::size_t>(level)],
                           printable(line))
                   .c_str(),
               stderr);
  }
}

}  // namespace antichain
