#include "antichain/base/logger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "antichain/base/error.h"

namespace antichain::logger_test {

std::vector<std::string> lines_at(LogLevel level) {
  std::vector<std::string> lines;
  const Logger logger(level, [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  logger.log(LogLevel::debug, "debug {}", 1);
  logger.log(LogLevel::info, "info {}", 2);
  logger.log(LogLevel::warning, "warning {}", 3);
  logger.log(LogLevel::error, "error {}", 4);
  logger.log(LogLevel::silent, "silent {}", 5);
  return lines;
}

TEST(Logger, WritesLinesAtOrAboveItsLevel) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_at(LogLevel::debug), (Lines{"debug 1", "info 2", "warning 3", "error 4"}));
  EXPECT_EQ(lines_at(LogLevel::info), (Lines{"info 2", "warning 3", "error 4"}));
  EXPECT_EQ(lines_at(LogLevel::warning), (Lines{"warning 3", "error 4"}));
  EXPECT_EQ(lines_at(LogLevel::error), (Lines{"error 4"}));
  EXPECT_EQ(lines_at(LogLevel::silent), (Lines{}));
}

TEST(Logger, PassesTheLevelOfTheLine) {
  LogLevel seen = LogLevel::silent;
  const Logger logger(LogLevel::debug, [&](LogLevel level, std::string_view) { seen = level; });
  logger.log(LogLevel::info, "x");
  EXPECT_EQ(seen, LogLevel::info);
}

TEST(Logger, WritesToStandardErrorFromWarningOnByDefault) {
  testing::internal::CaptureStderr();
  const Logger logger;
  logger.log(LogLevel::info, "not this");
  logger.log(LogLevel::warning, "slow kernel for {}", "matmul");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "antichain warning: slow kernel for matmul\n");
  EXPECT_EQ(logger.level(), LogLevel::warning);
}

TEST(Logger, ParsesLevels) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::info);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("error"), LogLevel::error);
  EXPECT_EQ(parse_log_level("silent"), LogLevel::silent);
  try {
    parse_log_level("loud");
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "unknown log level 'loud'; use debug, info, warning, error or silent");
  }
}

}  // namespace antichain::logger_test
