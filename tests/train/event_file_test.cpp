#include "antichain/train/event_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/base/temporary_folder.h"

namespace antichain::event_file_test {

// A record: length, its checksum, bytes, their checksum.
std::vector<std::string> records(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, text.data() + at, sizeof(length));
    all.push_back(text.substr(at + 12, length));
    at += 16 + length;
  }
  return all;
}

std::string only_file(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  EXPECT_EQ(files.size(), 1U);
  return read_text(files.at(0));
}

TEST(EventFile, HoldsTheVersionAndTheScalars) {
  const TemporaryFolder folder;
  EventFile file(folder / "events", {{"train/loss", {{1, 0.5, 10}}}});
  file.add("test/accuracy", {.step = 300, .value = 0.25, .time = 11});
  const std::vector<std::string> found = records(only_file(folder / "events"));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[0], testing::HasSubstr("brain.Event:2"));
  EXPECT_THAT(found[1], testing::HasSubstr("train/loss"));
  // wall time 11.0, step 300, then the summary: tag and 0.25 as a float.
  const std::string expected(
      "\x09\0\0\0\0\0\0\x26\x40\x10\xAC\x02\x2A\x16\x0A\x14"
      "\x0A\x0D"
      "test/accuracy"
      "\x15\0\0\x80\x3E",
      36);
  EXPECT_EQ(found[2], expected);
}

// The bytes with which the event files of TensorFlow begin; scripts/check_events reads whole files
// with TensorBoard's reader.
TEST(EventFile, SumsAreMaskedCrc32c) {
  const TemporaryFolder folder;
  const EventFile file(folder.path(), {});
  const std::string text = only_file(folder.path());
  // A length of 24: masked CRC-32C of the eight bytes 18 00 00 00 00 00 00 00.
  ASSERT_EQ(text[0], 24);
  EXPECT_EQ(text.substr(8, 4), std::string("\xa3\x7f\x4b\x22", 4));
}

TEST(EventFile, ReplacesWhatAnEarlierRunLeft) {
  const TemporaryFolder folder;
  write_text(folder / "events.out.tfevents.1.other", "old");
  const EventFile file(folder.path(), {});
  EXPECT_EQ(records(only_file(folder.path())).size(), 1U);
}

}  // namespace antichain::event_file_test
