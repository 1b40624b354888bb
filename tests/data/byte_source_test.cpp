#include "antichain/data/byte_source.h"

#include <gmock/gmock.h>

#include <array>

#include "antichain/base/error.h"
#include "tests/data/test_files.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::byte_source_test {

// Longer than the buffers in between, and not too easy to pack.
std::string long_text() {
  std::string text;
  for (unsigned i = 0, state = 1; i < 300'000; ++i) {
    state = state * 1664525 + 1013904223;  // Knuth and Lewis
    text += static_cast<char>('a' + (state >> 28));
  }
  return text;
}

TEST(ByteSource, ReadsPlainFiles) {
  const TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("x"), long_text()}) {
    const auto path = folder.write("plain.gz", content);  // the name says nothing
    EXPECT_EQ(read_all(*open_file(path)), content);
    EXPECT_EQ(open_file(path)->name(), path.string());
  }
}

TEST(ByteSource, SaysWhatCannotBeOpened) {
  const TemporaryFolder folder;
  const std::string missing = (folder.path() / "missing").string();
  expect_error<DataError>("there is no file " + missing, [&] { open_file(missing); });
  expect_error<DataError>(folder.path().string() + " is not a file",
                          [&] { open_file(folder.path()); });
}

TEST(ByteSource, ExactReads) {
  const auto source = open_text("abcde");
  std::array<std::byte, 4> four{};
  read_exactly(*source, four, "its header");
  expect_error<DataError>("file goes on after what it says it holds",
                          [&] { require_end(*source); });
  require_end(*source);
  expect_error<DataError>("file breaks off in its header: 4 bytes are missing",
                          [&] { read_exactly(*source, four, "its header"); });
}

struct Packing {
  const char* name;
  std::string (*pack)(std::string_view);
};

class PackedFiles : public testing::TestWithParam<Packing> {};

std::vector<Packing> packings() {
  std::vector<Packing> all;
#ifdef ANTICHAIN_HAS_ZLIB
  all.push_back({"gzip", gzip});
#endif
#ifdef ANTICHAIN_HAS_LZMA
  all.push_back({"xz", xz});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Packings, PackedFiles, testing::ValuesIn(packings()),
                         [](const auto& test) { return std::string(test.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PackedFiles);

TEST_P(PackedFiles, AreUnpacked) {
  const TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("x"), long_text()}) {
    const auto path = folder.write("file.txt", GetParam().pack(content));
    EXPECT_EQ(read_all(*open_file(path)), content);
    EXPECT_EQ(read_all(*open_text(GetParam().pack(content))), content);
  }
}

TEST_P(PackedFiles, MayHaveSeveralParts) {
  const std::string packed = GetParam().pack("one ") + GetParam().pack(long_text());
  EXPECT_EQ(read_all(*open_text(packed)), "one " + long_text());
}

TEST_P(PackedFiles, ThatBreakOffSaySo) {
  const std::string packed = GetParam().pack(long_text());
  for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{6}}) {
    const auto source = open_text(std::string_view(packed).substr(0, size));
    expect_error<DataError>(
        std::string("file breaks off: the ") + GetParam().name + " stream is not complete",
        [&] { read_all(*source); });
  }
}

TEST_P(PackedFiles, ThatAreDamagedSaySo) {
  std::string packed = GetParam().pack(long_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x10);
  const auto source = open_text(packed);
  try {
    read_all(*source);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("file is damaged: "));
  }
  EXPECT_THROW(read_all(*open_text(GetParam().pack("x") + "stray bytes")), DataError);
}

TEST(ByteSource, SaysWhichPackingThisBuildLacks) {
#ifndef ANTICHAIN_HAS_ZLIB
  expect_error<NotSupported>(
      "file is packed with gzip, and this build is without zlib; unpack it by gunzip",
      [] { open_text("\x1F\x8B\x08"); });
#endif
#ifndef ANTICHAIN_HAS_LZMA
  expect_error<NotSupported>(
      "file is packed with xz, and this build is without liblzma; unpack it by unxz", [] {
        open_text(
            std::string_view("\xFD"
                             "7zXZ\0",
                             6));
      });
#endif
}

}  // namespace antichain::data::byte_source_test
