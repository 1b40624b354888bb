#include "antichain/train/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>

#include "antichain/base/philox.h"
#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"

namespace antichain::safetensors_test {

Safetensors sample() {
  Safetensors contents{.tensors = {}, .metadata = {{"format", "pt"}, {"note", "\"ü\""}}};
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    contents.tensors["encoder." + std::string(name(dtype))] = Tensor::full(dtype, {2, 3}, 1);
  }
  contents.tensors["scalar"] = Tensor::scalar(2.5);
  contents.tensors["empty"] = Tensor::empty(f32, {0, 784});
  return contents;
}

// Header and body as the format's documentation writes them.
std::string file_of(const std::string& header, const std::string& body = {}) {
  std::uint64_t length = header.size();
  std::string text(sizeof(length), '\0');
  std::memcpy(text.data(), &length, sizeof(length));
  return text + header + body;
}

TEST(Safetensors, AllTypesComeBack) {
  const TemporaryFolder folder;
  const Safetensors written = sample();
  save_safetensors(folder / "a.safetensors", written);
  const Safetensors read = load_safetensors(folder / "a.safetensors");
  EXPECT_EQ(read.metadata, written.metadata);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    EXPECT_TRUE(bit_equal(read.tensors.at(name), tensor)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "a.safetensors.tmp"));
}

TEST(Safetensors, WritesTheDocumentedBytes) {
  const TemporaryFolder folder;
  save_safetensors(folder / "w", {.tensors = {{"w", Tensor::of<std::uint8_t>({2}, {65, 66})}}});
  const std::string text = read_text(folder / "w");
  EXPECT_EQ(text, file_of(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   )", "AB"));
  EXPECT_EQ((text.size() - 2) % 8, 0U);
}

TEST(Safetensors, ViewsAreWrittenPacked) {
  const TemporaryFolder folder;
  const Tensor view = Tensor::of<float>({2, 2}, {1, 2, 3, 4}).transpose(std::vector<int>{1, 0});
  save_safetensors(folder / "v", {.tensors = {{"v", view}}});
  EXPECT_EQ(load_safetensors(folder / "v").tensors.at("v").to_vector<float>(),
            (std::vector<float>{1, 3, 2, 4}));
}

TEST(Safetensors, BrokenFilesAreOneSentence) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const auto expect = [&](const std::string& text, const std::string& why) {
    write_text(path, text);
    expect_error<DataError>("'" + path + "' is not a good safetensors file: " + why,
                            [&] { load_safetensors(path); });
  };
  expect("abc", "it has 3 bytes");
  expect(file_of("{}").substr(0, 9), "its header of 2 bytes does not fit into its 9 bytes");
  expect(file_of("[]"), "its header is not a JSON object");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                 R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                 "a"),
         "'w' is in it twice");
  expect(file_of("{\"w\":" + std::string(100'000, '[')), "it is nested more than 3 deep");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "ab"),
         "there are bytes of no tensor before 'w'");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "ab"),
         "there are bytes of no tensor at its end");
  expect(file_of(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2"),
         "'w' holds bools that are neither 0 nor 1");
  // Both fit into the file, and into each other.
  expect(file_of(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                 "abcd"),
         "'w' overlaps another tensor");
  expect(file_of(R"({"w":3})"), "the entry of 'w' lacks dtype, shape or data_offsets");
  expect(file_of(R"({"w":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", "a"),
         "'w' has the unknown type \"F8\"");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "a"),
         "'w' lies outside of the file");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "ab"),
         "the shape of 'w' exceeds its bytes");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}})", "ab"),
         "'w' has 2 bytes, which does not fit its type and shape");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "a"),
         "the shape of 'w' is not a list of sizes");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[0,4611686018427387904],"data_offsets":[0,0]}})"),
         "the shape of 'w' exceeds its bytes");
  expect(file_of(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,-2]}})", "ab"),
         "the data_offsets of 'w' are not two numbers");
  expect(file_of(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                 R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                 "ab"),
         "'w' overlaps another tensor");
  expect(file_of(R"({"__metadata__":{"a":1}})"), "its metadata 'a' is not a text");
  expect_error<DataError>(
      "cannot read '" + (folder / "none").string() + "': No such file or directory",
      [&] { load_safetensors(folder / "none"); });
}

TEST(Safetensors, WhatIsNoFileIsNotRead) {
  const TemporaryFolder folder;
  expect_error<DataError>("cannot read '" + folder.path().string() + "': Is a directory",
                          [&] { load_safetensors(folder.path()); });
  expect_error<DataError>("cannot read '/dev/zero': it is no regular file",
                          [] { load_safetensors("/dev/zero"); });
}

TEST(Safetensors, AFileThatCannotBeWrittenLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder / "no/such/folder";
  expect_error<DataError>("cannot write '" + path + "': No such file or directory",
                          [&] { save_safetensors(path, sample()); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Any change to a good file either reads as something or is one sentence.
TEST(Safetensors, SurvivesDamage) {
  const TemporaryFolder folder;
  save_safetensors(folder / "good", sample());
  const std::string good = read_text(folder / "good");
  for (std::uint32_t round = 0; round < 600; ++round) {
    const PhiloxBlock draw = philox({1, 2}, {round, 0, 0, 0});
    std::string damaged = good;
    damaged[draw[0] % good.size()] = static_cast<char>(draw[1]);
    if (round % 3 == 0) {
      damaged.resize(draw[2] % good.size());
    }
    write_text(folder / "bad", damaged);
    try {
      load_safetensors(folder / "bad");
    } catch (const DataError&) {
    }
  }
}

}  // namespace antichain::safetensors_test
