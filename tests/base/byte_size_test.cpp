#include "antichain/base/byte_size.h"

#include <gtest/gtest.h>

#include "antichain/base/error.h"

namespace antichain::byte_size_test {

TEST(ByteSize, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_byte_size("123456"), 123456U);
  EXPECT_EQ(parse_byte_size("64MiB"), 64U << 20U);
  EXPECT_EQ(parse_byte_size("1GiB"), 1U << 30U);
  EXPECT_EQ(parse_byte_size("1.5 KiB"), 1536U);
  EXPECT_EQ(parse_byte_size("500MB"), 500'000'000U);
  EXPECT_EQ(parse_byte_size("2TB"), 2'000'000'000'000U);
  EXPECT_EQ(parse_byte_size("7B"), 7U);
}

TEST(ByteSize, SaysWhatIsAccepted) {
  for (const char* bad :
       {"", "MiB", "64 parsecs", "0", "-1MiB", "1e300", "nan", "inf", "64mib", "12 3"}) {
    try {
      parse_byte_size(bad);
      ADD_FAILURE() << "'" << bad << "' was taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(std::string(error.what()),
                "'" + std::string(bad) +
                    "' is no size; write a number of bytes, or one with B, KB, MB, GB, TB, KiB, "
                    "MiB, GiB or TiB, such as 64MiB");
    }
  }
}

TEST(ByteSize, WritesSizes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(12'345'678), "11.8 MiB");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 40), "3072.0 GiB");
}

}  // namespace antichain::byte_size_test
