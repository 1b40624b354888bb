// Each reader on small files written here: what it accepts, and the sentence for what it does not.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "antichain/data/ag_news.h"
#include "antichain/data/csv.h"
#include "antichain/data/extreme.h"
#include "antichain/data/idx.h"
#include "antichain/data/image_dataset.h"
#include "antichain/data/npy.h"
#include "antichain/data/tar.h"
#include "antichain/data/text_lines.h"
#include "antichain/data/uci_har.h"
#include "antichain/data/vocabulary.h"
#include "tests/data/test_files.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::readers_test {

using testing::ElementsAre;
using namespace std::string_literals;  // NOLINT: for zeros inside

template <class Read>
void refuses(std::string_view message, std::string_view content, Read read) {
  expect_error<DataError>(message, [&] { read(*open_text(content)); });
}

TEST(Idx, ReadsEveryType) {
  const auto read = [](const std::string& file) { return read_idx(*open_text(file)); };
  const Tensor bytes = read(idx_file(0x08, {2, 3}, "\x00\x01\x02\x03\x04\xFF"s));
  EXPECT_TRUE(bit_equal(bytes, Tensor::of<std::uint8_t>({2, 3}, {0, 1, 2, 3, 4, 255})));
  EXPECT_TRUE(bit_equal(read(idx_file(0x09, {1}, "\xFF")), Tensor::of<std::int8_t>({1}, {-1})));
  EXPECT_TRUE(bit_equal(read(idx_file(0x0C, {2}, "\0\0\1\2\xFF\xFF\xFF\xFE"s)),
                        Tensor::of<std::int32_t>({2}, {258, -2})));
  EXPECT_TRUE(
      bit_equal(read(idx_file(0x0D, {1}, "\x3F\xC0\0\0"s)), Tensor::of<float>({1}, {1.5F})));
  EXPECT_TRUE(bit_equal(read(idx_file(0x0E, {1, 1}, "\xBF\xE0\0\0\0\0\0\0"s)),
                        Tensor::of<double>({1, 1}, {-0.5})));
  EXPECT_EQ(read(idx_file(0x08, {0, 28, 28}, "")).shape(), (Shape{0, 28, 28}));
}

TEST(Idx, SaysWhatIsWrong) {
  const auto read = [](ByteSource& source) { read_idx(source); };
  refuses("file breaks off in its header: 4 bytes are missing", "", read);
  refuses("file is not an IDX file", "\1\0\x08\1aaaa"s, read);
  refuses("file is not an IDX file", "\0\0\x08\0"s, read);
  refuses("file holds elements of IDX type 0x0b; accepted: 0x08, 0x09, 0x0c, 0x0d, 0x0e",
          idx_file(0x0B, {1}, "ab"), read);
  refuses("file breaks off in its elements: 1 bytes are missing", idx_file(8, {2, 2}, "abc"), read);
  refuses("file goes on after what it says it holds", idx_file(8, {2, 2}, "abcde"), read);
  // 2^32 - 1 images: not allocated.
  refuses("file breaks off in its elements: 65532 bytes are missing",
          idx_file(8, {-1, 28, 28}, "abcd"), read);
  refuses("file says that it holds u8[4294967295, 4294967295, 4294967295], which is impossible",
          idx_file(8, {-1, -1, -1}, "abcd"), read);
}

TEST(IdxImages, PairsImagesWithLabels) {
  const std::string images = idx_file(8, {2, 1, 2}, "\1\2\3\4"), labels = idx_file(8, {2}, "\7\0"s);
  const LabelledImages both = read_idx_images(*open_text(images), *open_text(labels), 10);
  EXPECT_EQ(both.pixels.shape(), (Shape{2, 1, 1, 2}));
  EXPECT_THAT(both.labels.to_vector<std::int64_t>(), ElementsAre(7, 0));
  const auto pair = [&](const std::string& a, const std::string& b) {
    return [a, b] { read_idx_images(*open_text(a), *open_text(b), 10); };
  };
  expect_error<DataError>("file must hold images u8[n, h, w], found u8[2]", pair(labels, labels));
  expect_error<DataError>("file must hold a label u8 for each of 2 images, found u8[1]",
                          pair(images, idx_file(8, {1}, "\7")));
  expect_error<DataError>("file names class 10; there are 10, counted from 0",
                          pair(images, idx_file(8, {2}, "\7\x0A")));
}

TEST(Npy, ReadsEveryType) {
  const auto read = [](const std::string& file) { return read_npy(*open_text(file)); };
  EXPECT_TRUE(bit_equal(read(npy_file("<f4", "(2, 1)", bytes_of({1.5F, -2.0F}))),
                        Tensor::of<float>({2, 1}, {1.5F, -2.0F})));
  EXPECT_TRUE(
      bit_equal(read(npy_file("<f8", "(1,)", bytes_of({0.1}))), Tensor::of<double>({1}, {0.1})));
  EXPECT_TRUE(bit_equal(read(npy_file("<f2", "(1,)", "\0\x3C"s)), Tensor::full(f16, {1}, 1)));
  EXPECT_TRUE(bit_equal(read(npy_file("|i1", "(1,)", "\xFE")), Tensor::of<std::int8_t>({1}, {-2})));
  EXPECT_TRUE(bit_equal(read(npy_file("<i2", "(2,)", bytes_of<std::int16_t>({-9, 8373}))),
                        Tensor::of<std::int32_t>({2}, {-9, 8373})));
  EXPECT_TRUE(
      bit_equal(read(npy_file("<u2", "(1,)", "\xFF\xFF")), Tensor::of<std::int32_t>({1}, {65535})));
  EXPECT_TRUE(bit_equal(read(npy_file("<i4", "()", bytes_of({7}))), Tensor::scalar<int>(7)));
  EXPECT_TRUE(bit_equal(read(npy_file("<i8", "(1,)", bytes_of<std::int64_t>({-3}))),
                        Tensor::of<std::int64_t>({1}, {-3})));
  EXPECT_TRUE(bit_equal(read(npy_file("|u1", "(0, 3)", "")), Tensor::zeros(u8, {0, 3})));
  EXPECT_TRUE(
      bit_equal(read(npy_file("|b1", "(2,)", "\0\1"s)), Tensor::of<bool>({2}, {false, true})));
}

TEST(Npy, ReadsFortranOrderAndLaterVersions) {
  const std::string columns = bytes_of({1, 2, 3, 4, 5, 6});
  const Tensor expected = Tensor::of<std::int32_t>({2, 3}, {1, 3, 5, 2, 4, 6});
  for (const int version : {1, 2, 3}) {
    EXPECT_TRUE(bit_equal(read_npy(*open_text(npy_file("<i4", "(2, 3)", columns, true, version))),
                          expected));
  }
}

TEST(Npy, SaysWhatIsWrong) {
  const auto read = [](ByteSource& source) { read_npy(source); };
  refuses("file is not a .npy file", "NUMPY, but not quite", read);
  refuses("file is of .npy version 4.0; accepted: 1.0, 2.0 and 3.0",
          npy_file("<f4", "()", "", false, 4), read);
  refuses("file breaks off in its header: 9 bytes are missing", "\x93NUMPY\1\0\x0C\0abc"s, read);
  refuses("file has a header of 4294967295 bytes; at most 1048576 are plausible",
          "\x93NUMPY\2\0\xFF\xFF\xFF\xFF"s, read);
  refuses("file has a .npy header that cannot be understood", npy_file("<f4", "(-1,)", ""), read);
  refuses("file has a .npy header that cannot be understood", npy_file("<f4", "(1", ""), read);
  refuses("file has a .npy header that cannot be understood", npy_file("<f4'", "(1,)", ""), read);
  refuses(
      "file holds elements of type '>f4'; accepted: <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1, "
      "<u2, |b1",
      npy_file(">f4", "(1,)", "abcd"), read);
  refuses("file holds bools that are neither 0 nor 1", npy_file("|b1", "(1,)", "\2"), read);
  refuses("file breaks off in its elements: 1 bytes are missing", npy_file("<f4", "(1,)", "abc"),
          read);
  refuses("file goes on after what it says it holds", npy_file("|u1", "(1,)", "ab"), read);
  refuses("file says that it holds f32[4611686018427387904, 4], which is impossible",
          npy_file("<f4", "(4611686018427387904, 4)", ""), read);
}

// A file without an end.
class Endless final : public ByteSource {
 public:
  Endless() : ByteSource("file") {}
  std::size_t read(std::span<std::byte> to) override {
    std::fill(to.begin(), to.end(), std::byte{'a'});
    return to.size();
  }
};

TEST(Lines, MayBeLongButNotEndless) {
  const std::string first(70'000, 'a'), second(200'000, 'b');  // longer than buffers
  const std::string text = first + "\r\n\n" + second;
  const auto source = open_text(text);
  LineReader lines(*source);
  std::string_view line;
  for (const std::string& expected : {first, std::string(), second}) {
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(fmt::format("{}", lines.line_in_file()), "file:3");
  EXPECT_FALSE(lines.next(line));
  Endless endless;
  LineReader never(endless);
  expect_error<DataError>("file:1: a line of more than 16777216 bytes", [&] { never.next(line); });
  CsvReader records(endless);
  std::vector<std::string> fields;
  expect_error<DataError>("file:1: a field of more than 16777216 bytes",
                          [&] { records.next(fields); });
}

std::vector<std::vector<std::string>> csv(std::string_view text) {
  const auto source = open_text(text);
  CsvReader reader(*source);
  std::vector<std::vector<std::string>> records;
  for (std::vector<std::string> fields; reader.next(fields);) {
    records.push_back(fields);
  }
  return records;
}

TEST(Csv, ReadsQuotesAndLineEnds) {
  using Records = std::vector<std::vector<std::string>>;
  EXPECT_EQ(csv("a,b\nc,d\n"), (Records{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(csv("\"3\",\"say \"\"so\"\"\",\"\"\r\n\"x, y\",plain,\"two\nlines\""),
            (Records{{"3", "say \"so\"", ""}, {"x, y", "plain", "two\nlines"}}));
  EXPECT_EQ(csv(",\n\n,,"), (Records{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(csv("\xEF\xBB\xBFstraße,2"), (Records{{"straße", "2"}}));
  EXPECT_TRUE(csv("").empty());
}

TEST(Csv, SaysWhatIsWrong) {
  const auto refused = [](std::string_view message, std::string_view text) {
    expect_error<DataError>(message, [&] { csv(text); });
  };
  refused("file:2: the file ends inside double quotes", "a\n\"b");
  refused("file:1: a double quote in the middle of a field", "a\"b");
  refused("file:1: a double quote in the middle of a field", "\"a\"b");
  refused("file does not begin as UTF-8 does", "\xEF\xBBx");
}

TEST(Vocabulary, NumbersWordsByFrequency) {
  EXPECT_THAT(tokenise("The U.S.\\ #39;é\xC3\x89 3rd—x"),
              ElementsAre("the", "u", "s", "39", "é\xC3\x89", "3rd—x"));
  EXPECT_TRUE(tokenise(" .,").empty());
  const std::vector<std::string> texts = {"b a b", "c a b d"};
  const Vocabulary all(texts, {});
  EXPECT_THAT(all.words(), ElementsAre("<pad>", "<unk>", "b", "a", "c", "d"));
  EXPECT_THAT(Vocabulary(texts, {.max_words = 4}).words(), ElementsAre("<pad>", "<unk>", "b", "a"));
  EXPECT_THAT(Vocabulary(texts, {.min_count = 3}).words(), ElementsAre("<pad>", "<unk>", "b"));
  std::array<std::int64_t, 4> numbers{9, 9, 9, 9};
  all.encode("A z b", numbers);
  EXPECT_THAT(numbers, ElementsAre(3, 1, 2, 0));
  all.encode("a a a a b b", numbers);
  EXPECT_THAT(numbers, ElementsAre(3, 3, 3, 3));
  EXPECT_THROW(Vocabulary(texts, {.max_words = 2}), InvalidArgument);
}

TEST(LabelledTexts, ReadsAndEncodes) {
  const auto source = open_text("\"2\",\"Title\",\"Some text\"\n1,x,y\n");
  const LabelledTexts read = read_labelled_texts(*source, 4);
  EXPECT_THAT(read.texts, ElementsAre("Title Some text", "x y"));
  EXPECT_THAT(read.labels, ElementsAre(1, 0));
  const Batch batch = take_all(*read.encode(Vocabulary(read.texts, {}), 2));
  EXPECT_EQ(batch.at("x").shape(), (Shape{2, 2}));
  const auto refused = [](ByteSource& s) { read_labelled_texts(s, 4); };
  refuses("file:1: the class must be within [1, 4], found '5'", "5,a,b", refused);
  refuses("file:2: the class must be within [1, 4], found 'x'", "1,a\nx,b", refused);
  refuses("file:1: 1 fields; a class and a text are needed", "1", refused);
  EXPECT_THROW(read.encode(Vocabulary(read.texts, {}), 0), InvalidArgument);
}

TEST(Table, ReadsNumbers) {
  const Tensor table = read_table(*open_text("  1.5e-2  -3\n4 5\n"), 2);
  EXPECT_TRUE(bit_equal(table, Tensor::of<float>({2, 2}, {1.5e-2F, -3, 4, 5})));
  EXPECT_EQ(read_table(*open_text(""), 2).shape(), (Shape{0, 2}));
  const auto read = [](ByteSource& s) { read_table(s, 2); };
  refuses("file:1: 1 numbers, there must be 2", "1\n", read);
  refuses("file:1: 'x' is not a number", "1 x\n", read);
  refuses("file:1: 'nan' is not a number", "1 nan\n", read);
}

TEST(Cifar, ReadsRecords) {
  std::string file;
  for (int image = 0; image < 2; ++image) {
    file += static_cast<char>(image + 3);
    for (int i = 0; i < 3072; ++i) {
      file += static_cast<char>(i / 1024 + 10 * image);
    }
  }
  const LabelledImages images = read_cifar(*open_text(file));
  EXPECT_EQ(images.pixels.shape(), (Shape{2, 3, 32, 32}));
  EXPECT_EQ(images.pixels.data<std::uint8_t>()[3072 + 1024], 11);
  EXPECT_THAT(images.labels.to_vector<std::int64_t>(), ElementsAre(3, 4));
  EXPECT_EQ(read_cifar(*open_text("")).pixels.shape(), (Shape{0, 3, 32, 32}));
  const auto read = [](ByteSource& s) { read_cifar(s); };
  refuses("file breaks off in image 1: 3070 bytes of 3073 are missing", file.substr(0, 3076), read);
  file[0] = 10;
  refuses("file names class 10; there are 10, counted from 0", file, read);
}

TEST(ImageDataset, ScalesAndNormalises) {
  const Tensor pixels = Tensor::of<std::uint8_t>({2, 2, 1, 2}, {0, 255, 51, 102, 1, 2, 3, 4});
  const Tensor labels = Tensor::of<std::int64_t>({2}, {4, 5});
  const Batch plain = ImageDataset(pixels, labels).take(std::vector<std::int64_t>{1, 0});
  EXPECT_THAT(plain.at("y").to_vector<std::int64_t>(), ElementsAre(5, 4));
  EXPECT_EQ(plain.at("x").shape(), (Shape{2, 2, 1, 2}));
  EXPECT_THAT(plain.at("x").slice(0, 1, 1).to_vector<float>(),
              testing::Pointwise(testing::FloatEq(), {0.0F, 1.0F, 0.2F, 0.4F}));
  const Batch other = take_all(ImageDataset(pixels, labels, {.mean = {0.5F, 0.1F}, .std = {2, 4}}));
  EXPECT_THAT(other.at("x").slice(0, 0, 1).to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-6F), {-0.25F, 0.25F, 0.025F, 0.075F}));
  EXPECT_THROW(ImageDataset(labels, labels), ShapeError);
  EXPECT_THROW(ImageDataset(pixels, pixels), ShapeError);
  EXPECT_THROW(ImageDataset(pixels, labels, {.mean = {1}}), InvalidArgument);
  EXPECT_THROW(ImageDataset(pixels, labels, {.std = {1, 0}}), InvalidArgument);
}

TEST(Extreme, ReadsPointsWithAndWithoutLabels) {
  const auto set = read_extreme(*open_text("4 6 3\n2,0 1:0.5 5:1\n 0:2\n1\n1 \n"));
  EXPECT_EQ(set->size(), 4);
  EXPECT_EQ(set->features().num_columns(), 6);
  EXPECT_THAT(set->labels().columns(0), ElementsAre(2, 0));
  EXPECT_TRUE(set->labels().columns(1).empty());
  EXPECT_TRUE(set->features().columns(2).empty());
  EXPECT_EQ(set->labels().num_empty_rows(), 1);
  EXPECT_EQ(set->features().num_empty_rows(), 2);
  const Batch batch = set->take(std::vector<std::int64_t>{1, 0});
  EXPECT_THAT(batch.at("x_values").to_vector<float>(), ElementsAre(2, 0.5F, 1));
  EXPECT_THAT(batch.at("x_columns").to_vector<int>(), ElementsAre(0, 1, 5));
  EXPECT_THAT(batch.at("x_row_starts").to_vector<int>(), ElementsAre(0, 1, 3));
  EXPECT_THAT(batch.at("y_columns").to_vector<int>(), ElementsAre(2, 0));
  EXPECT_THAT(batch.at("y_row_starts").to_vector<int>(), ElementsAre(0, 0, 2));
  EXPECT_THAT(
      set->features().dense().to_vector<float>(),
      ElementsAre(0, 0.5F, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THROW(concat({set, set}), ShapeError);  // rows of a sparse batch are not all alike
}

TEST(Extreme, SaysWhatIsWrong) {
  const auto read = [](ByteSource& s) { read_extreme(s); };
  refuses("file is empty", "", read);
  refuses("file:1: the number of labels must be a whole number within [0, 2147483647], found ''",
          "1 2\n", read);
  refuses("file:2: a label must be a whole number within [0, 2], found '3'", "1 6 3\n3 1:1\n",
          read);
  refuses("file:2: a feature must be a whole number within [0, 5], found '6'", "1 6 3\n1 6:1\n",
          read);
  refuses("file:2: '' is not the value of a feature", "1 6 3\n1 5\n", read);
  for (const std::string value : {"nan", "-inf", "1e99"}) {
    refuses("file:2: '" + value + "' is not the value of a feature", "1 6 3\n1 5:" + value + "\n",
            read);
  }
  refuses("file:2: label 2 stands there twice", "1 6 3\n2,0,2 1:1\n", read);
  refuses("file:3: feature 4 stands there twice", "2 6 3\n2,0 4:1\n1 4:1 4:1\n", read);
  refuses("file:2: a label must be a whole number within [0, 2], found ''", "1 6 3\n1,,2 1:1\n",
          read);
  refuses("file breaks off: 1 of 490449 points are there", "490449 6 3\n1 5:1\n", read);
  refuses("file:3: more than the 1 points of the first line", "1 6 3\n1 5:1\n1 5:1\n", read);
}

TEST(Tar, VisitsFiles) {
  const std::string archive =
      tar_file({{"a/one", "first"}, {"two", std::string(600, 'x')}, {"three", ""}});
  std::vector<std::string> seen;
  visit_tar(*open_text(archive), [&](const std::string& path, ByteSource& file) {
    seen.push_back(path + "=" + (path == "two" ? "skipped" : read_all(file)));
  });
  EXPECT_THAT(seen, ElementsAre("a/one=first", "two=skipped", "three="));
  const auto read = [](ByteSource& s) { visit_tar(s, [](const std::string&, ByteSource&) {}); };
  refuses("file is not a tar archive, or damaged", std::string(512, 'x'), read);
  refuses("file breaks off in the list of files: 512 bytes are missing", "", read);
  refuses("file breaks off in a file of the archive: 12 bytes are missing", archive.substr(0, 1012),
          read);
}

}  // namespace antichain::data::readers_test
