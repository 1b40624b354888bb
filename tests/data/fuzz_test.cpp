// Damaged files: whatever is cut off or changed, a reader reads or throws DataError, soon.
#include <gtest/gtest.h>

#include <functional>

#include "antichain/base/random_functions.h"
#include "antichain/data/ag_news.h"
#include "antichain/data/cora.h"
#include "antichain/data/extreme.h"
#include "antichain/data/idx.h"
#include "antichain/data/image_dataset.h"
#include "antichain/data/npy.h"
#include "antichain/data/tar.h"
#include "antichain/data/text_lines.h"
#include "antichain/data/uci_har.h"
#include "tests/data/damage.h"
#include "tests/data/test_files.h"

namespace antichain::data::fuzz_test {

struct Format {
  const char* name;
  std::string valid;
  std::function<void(ByteSource&)> read;
};

std::string some_bytes(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += static_cast<char>(random_word({.seed = 1}, static_cast<std::int64_t>(i)) % 10);
  }
  return bytes;
}

// Reads a citation graph whose file number `changed` is the source.
auto citation(std::size_t changed) {
  return [changed](ByteSource& source) {
    const auto features = open_text("0 3\n\n1 2 3\n"), labels = open_text("0\n1\n1\n"),
               split = open_text("train\nval\nnone\n"), edges = open_text("0\t1\n1\t2\n");
    const auto pick = [&](std::size_t number, ByteSource& valid) -> ByteSource& {
      return number == changed ? source : valid;
    };
    read_citation_graph({pick(0, *features), pick(1, *labels), pick(2, *split), pick(3, *edges)});
  };
}

std::vector<Format> formats() {
  [[maybe_unused]] const auto plain = [](ByteSource& source) { read_all(source); };
  const auto npy = [](ByteSource& source) { read_npy(source); };
  const auto idx = [](ByteSource& source) { read_idx(source); };
  const std::string text = "\"1\",\"a \"\"b\"\"\",c\n2,\"d\ne\",f\r\n";
  std::vector<Format> all = {
      {"idx_u8", idx_file(0x08, {3, 2, 4}, some_bytes(24)), idx},
      {"idx_f64", idx_file(0x0E, {2, 1}, some_bytes(16)), idx},
      {"npy_f32", npy_file("<f4", "(3, 2)", some_bytes(24)), npy},
      {"npy_i16", npy_file("<i2", "(2, 3)", some_bytes(12), true, 2), npy},
      {"npy_bool", npy_file("|b1", "(4,)", std::string("\0\1\1\0", 4)), npy},
      {"csv", text, [](ByteSource& source) { read_labelled_texts(source, 4); }},
      {"table", "1 2.5\n-3e2 4\n", [](ByteSource& source) { read_table(source, 2); }},
      {"integers", "1\n2\n6\n", [](ByteSource& source) { read_integers(source, 1, 6, "it"); }},
      {"extreme", "4 10 4\n1,2 0:1 3:0.5\n 4:1e-3\n3,0,1 9:2 0:-1 4:5\n2\n",
       [](ByteSource& source) { read_extreme(source); }},
      {"features", "0 3\n\n1 2 3\n", citation(0)},
      {"labels", "0\n1\n1\n", citation(1)},
      {"split", "train\nval\nnone\n", citation(2)},
      {"edges", "0\t1\n1\t2\n", citation(3)},
      {"cifar", some_bytes(2 * 3073), [](ByteSource& source) { read_cifar(source); }},
      {"tar", tar_file({{"one", "first"}, {"two", some_bytes(600)}}),
       [](ByteSource& source) {
         visit_tar(source, [](const std::string&, ByteSource& file) { read_all(file); });
       }},
  };
#ifdef ANTICHAIN_HAS_ZLIB
  all.push_back({"gzip", gzip(text + some_bytes(300)), plain});
  all.push_back({"npy_gzip", gzip(npy_file("<f4", "(3, 2)", some_bytes(24))), npy});
#endif
#ifdef ANTICHAIN_HAS_LZMA
  all.push_back({"xz", xz(text + some_bytes(300)), plain});
  all.push_back({"npy_xz", xz(npy_file("<f4", "(3, 2)", some_bytes(24))), npy});
#endif
  return all;
}

class Fuzz : public testing::TestWithParam<Format> {
 protected:
  // Returns whether it could be read.
  static bool try_to_read(const std::string& content) {
    try {
      const auto source = open_text(content);
      GetParam().read(*source);
      return true;
    } catch (const DataError& error) {
      EXPECT_FALSE(std::string_view(error.what()).empty());
      return false;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, Fuzz, testing::ValuesIn(formats()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Fuzz, ReadsTheWholeFile) { EXPECT_TRUE(try_to_read(GetParam().valid)); }

TEST_P(Fuzz, SurvivesTruncation) {
  const std::string& valid = GetParam().valid;
  const std::size_t step = 1 + valid.size() / 1000;
  for (std::size_t size = 0; size < valid.size(); size += step) {
    SCOPED_TRACE(size);
    try_to_read(valid.substr(0, size));
  }
}

TEST_P(Fuzz, SurvivesMutation) {
  Damage damage(2);
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    try_to_read(damage.apply(GetParam().valid));
  }
}

}  // namespace antichain::data::fuzz_test
