#include "antichain/base/error.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace antichain::error_test {

TEST(Error, RequireThrowsTheFormattedMessageWithItsPlace) {
  unsigned line = 0;
  try {
    line = std::source_location::current().line() + 1;
    require(false, "size {} of {} is odd", 3, "x");
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "size 3 of x is odd");
    EXPECT_EQ(error.where().line(), line);
    EXPECT_TRUE(std::string_view(error.where().file_name()).ends_with("error_test.cpp"));
  }
}

TEST(Error, RequireThrowsTheNamedType) {
  EXPECT_THROW(require<ShapeError>(false, "no arguments"), ShapeError);
  EXPECT_THROW(require<DeviceError>(false, "lost {}", std::string("cuda:0")), DeviceError);
}

TEST(Error, EnsureThrowsInternalError) {
  unsigned line = 0;
  try {
    line = std::source_location::current().line() + 1;
    ensure(false, "op {} has no output", 7);
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "op 7 has no output");
    EXPECT_EQ(error.where().line(), line);
  }
}

TEST(Error, NothingHappensWhenTheConditionHolds) {
  EXPECT_NO_THROW(require(true, "never {}", 1));
  EXPECT_NO_THROW(ensure(true, "never {}", 1));
}

TEST(Error, BracesInMessagesAreEscapes) {
  try {
    fail<DataError>("expected {{ in line {}", 2);
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "expected { in line 2");
  }
}

TEST(Error, KindsAreDistinctButShareABase) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<InvalidArgument, ShapeError>);
  static_assert(std::is_base_of_v<InvalidArgument, TypeError>);
  static_assert(!std::is_base_of_v<InvalidArgument, NotSupported>);
  static_assert(!std::is_base_of_v<InvalidArgument, InternalError>);
  EXPECT_THROW(fail<NotSupported>("x"), Error);
  EXPECT_THROW(fail<CommError>("x"), Error);
  EXPECT_THROW(fail<DataError>("x"), Error);
}

}  // namespace antichain::error_test
