// The sets known by name, on small files laid out as theirs, and where they are looked for.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <set>

#include "antichain/data/ag_news.h"
#include "antichain/data/cora.h"
#include "antichain/data/extreme.h"
#include "antichain/data/folder.h"
#include "antichain/data/hyperspectral.h"
#include "antichain/data/image_dataset.h"
#include "antichain/data/uci_har.h"
#include "tests/data/test_files.h"
#include "tests/tensor/expect_error.h"

namespace antichain::data::sets_test {

using testing::ElementsAre;
using Numbers = std::vector<std::int64_t>;

Numbers labels(const DatasetPtr& dataset) {
  return take_all(*dataset).at("y").to_vector<std::int64_t>();
}

TEST(DataFolder, IsTheGivenOneElseOfTheEnvironmentElseOfTheUser) {
  const WithVariable chosen("ANTICHAIN_DATA", "/chosen"), shared("XDG_DATA_HOME", "/shared"),
      home("HOME", "/houses/me");
  EXPECT_EQ(data_folder("/given"), "/given");
  EXPECT_EQ(data_folder(), "/chosen");
  const WithVariable not_chosen("ANTICHAIN_DATA", nullptr);
  EXPECT_EQ(data_folder(), "/shared/antichain");
  const WithVariable not_shared("XDG_DATA_HOME", "");
  EXPECT_EQ(data_folder(), "/houses/me/.local/share/antichain");
  const WithVariable no_home("HOME", nullptr);
  expect_error<DataError>(
      "no folder for data: neither --data, ANTICHAIN_DATA, XDG_DATA_HOME nor HOME says where it is",
      [] { data_folder(); });
}

TEST(SetFolder, FindsFilesByNameAndEnding) {
  const TemporaryFolder folder, system;
  const SetFolder set(folder.path(), "toys", {system.path()});
  const auto last = system.write("one.txt.gz", "");
  EXPECT_EQ(set.look_for({"two.txt", "one.txt"}), last);
  const auto packed = folder.write("toys/one.txt.xz", "");
  EXPECT_EQ(set.look_for({"one.txt"}), packed);
  const auto plain = folder.write("toys/one.txt", "");
  EXPECT_EQ(set.find({"one.txt"}), plain);
  EXPECT_EQ(set.look_for({"two.txt"}), std::nullopt);
  const std::string where = folder.path().string() + "/toys or " + system.path().string();
  expect_error<DataError>(
      "toys: there is no a.txt or b.txt (nor with .gz or .xz) in " + where +
          "; say by --data or ANTICHAIN_DATA in which folder the folder toys is",
      [&] {
        set.find({"a.txt", "b.txt"});
      });
}

TEST(Sets, MnistAndFashionMnist) {
  const TemporaryFolder folder;
  for (const std::string set : {"mnist", "fashion_mnist"}) {
    folder.write(set + "/train-images-idx3-ubyte", idx_file(8, {2, 1, 2}, "\1\2\3\4"));
    folder.write(set + "/train-labels-idx1-ubyte", idx_file(8, {2}, "\7\6"));
    folder.write(set + "/t10k-images-idx3-ubyte", idx_file(8, {1, 1, 2}, "\1\2"));
    folder.write(set + "/t10k-labels-idx1-ubyte", idx_file(8, {1}, "\5"));
  }
  for (const Splits& splits : {mnist(folder.path()), fashion_mnist(folder.path())}) {
    EXPECT_THAT(labels(splits.train), ElementsAre(7, 6));
    EXPECT_THAT(labels(splits.test), ElementsAre(5));
    EXPECT_EQ(splits.validation, nullptr);
    EXPECT_EQ(splits.num_classes, 10);
    EXPECT_EQ(splits.class_names.size(), 10U);
  }
  EXPECT_FLOAT_EQ(
      take_all(*mnist(folder.path(), {.mean = {1}, .std = {2}}).test).at("x").data<float>()[0],
      (1.0F / 255 - 1) / 2);
}

TEST(Sets, MissingOnesSaySo) {
  const TemporaryFolder folder;
  const std::string fetched = "get it by `antichain data fetch ", by_hand = "get it from ";
  for (const auto& [load, how] :
       std::initializer_list<std::pair<std::function<void()>, std::string>>{
           {[&] { mnist(folder.path()); }, fetched},
           {[&] { cifar10(folder.path()); }, fetched},
           {[&] { ag_news(folder.path()); }, fetched},
           {[&] { uci_har(folder.path()); }, by_hand},
           {[&] { cora(folder.path()); }, by_hand},
           {[&] { salinas_a(folder.path()); }, by_hand},
           {[&] { indian_pines(folder.path()); }, by_hand},
           {[&] { extreme("delicious", folder.path()); }, by_hand}}) {
    try {
      load();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(how));
      EXPECT_THAT(error.what(), testing::HasSubstr(folder.path().string()));
    }
  }
}

std::string cifar_file(std::initializer_list<int> classes) {
  std::string file;
  for (const int label : classes) {
    file += static_cast<char>(label) + std::string(3072, static_cast<char>(100 + label));
  }
  return file;
}

TEST(Sets, CifarAsAPartAsFilesAndAsTheArchive) {
  const TemporaryFolder folder;
  folder.write("cifar10/train_2k.bin", cifar_file({1, 2}));
  folder.write("cifar10/test_500.bin", cifar_file({3}));
  EXPECT_THAT(labels(cifar10(folder.path()).train), ElementsAre(1, 2));
  EXPECT_THAT(labels(cifar10(folder.path()).test), ElementsAre(3));

  for (int batch = 1; batch <= 5; ++batch) {
    folder.write("cifar10/data_batch_" + std::to_string(batch) + ".bin", cifar_file({batch}));
  }
  folder.write("cifar10/test_batch.bin", cifar_file({9}));
  EXPECT_THAT(labels(cifar10(folder.path()).train), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(labels(cifar10(folder.path()).test), ElementsAre(9));

  folder.write("cifar10/cifar-10-binary.tar",
               tar_file({{"cifar-10-batches-bin/data_batch_1.bin", cifar_file({6, 7})},
                         {"cifar-10-batches-bin/readme.html", "<html>"},
                         {"cifar-10-batches-bin/test_batch.bin", cifar_file({8})}}));
  EXPECT_THAT(labels(cifar10(folder.path()).train), ElementsAre(6, 7));
  EXPECT_THAT(labels(cifar10(folder.path()).test), ElementsAre(8));
  const auto archive = folder.write("cifar10/cifar-10-binary.tar", tar_file({{"a", "b"}}));
  expect_error<DataError>(archive.string() + " lacks data_batch_*.bin or test_batch.bin",
                          [&] { cifar10(folder.path()); });
}

TEST(Sets, AgNews) {
  const TemporaryFolder folder;
  folder.write("ag_news/train_part.csv", "1,Wall St.,up\n4,chip,wall up up\n");
  folder.write("ag_news/test.csv", "3,up,new\n");
  const Splits splits = ag_news(folder.path(), {.length = 3});
  EXPECT_THAT(splits.feature_names, ElementsAre("<pad>", "<unk>", "up", "wall", "chip", "st"));
  EXPECT_EQ(splits.num_features, 6);
  EXPECT_EQ(splits.class_names[3], "Sci/Tech");
  EXPECT_THAT(take_all(*splits.train).at("x").to_vector<int>(), ElementsAre(3, 5, 2, 4, 3, 2));
  EXPECT_THAT(take_all(*splits.test).at("x").to_vector<int>(), ElementsAre(2, 1, 0));
  EXPECT_THAT(labels(splits.train), ElementsAre(0, 3));
}

TEST(Sets, UciHarAsPublished) {
  const TemporaryFolder folder;
  const std::string axes = "xyz";
  for (const std::string part : {"train", "test"}) {
    int number = 0;
    for (const std::string kind : {"body_acc_", "body_gyro_", "total_acc_"}) {
      for (const char axis : axes) {
        std::string line;
        for (int t = 0; t < 128; ++t) {
          line += "  " + std::to_string(1000 * number + t) + ".0000000e+000";
        }
        folder.write("uci_har/" + part + "/Inertial Signals/" + kind + axis + "_" + part + ".txt",
                     line + "\n" + line + "\n");
        ++number;
      }
    }
    folder.write("uci_har/" + part + "/y_" + part + ".txt", "1\n6\n");
  }
  const Splits splits = uci_har(folder.path());
  EXPECT_THAT(labels(splits.train), ElementsAre(0, 5));
  const Tensor x = take_all(*splits.test).at("x");
  ASSERT_EQ(x.shape(), (Shape{2, 9, 128}));
  EXPECT_EQ(x.data<float>()[(9 + 4) * 128 + 5], 4005);
  const auto path = folder.write("uci_har/test/y_test.txt", "1\n");
  expect_error<DataError>(path.string() + " has 1 classes for 2 windows",
                          [&] { uci_har(folder.path()); });
  folder.write("uci_har/test/y_test.txt", "7\n");
  expect_error<DataError>(
      path.string() + ":1: a class must be a whole number within [1, 6], found '7'",
      [&] { uci_har(folder.path()); });
}

// The oracle is the formula on dense matrices.
TEST(Cora, AdjacencyIsNormalised) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 1}, {1, 3}};
  constexpr std::size_t kNodes = 5;
  double a[kNodes][kNodes] = {}, degree[kNodes] = {};
  for (std::size_t i = 0; i < kNodes; ++i) {
    a[i][i] = 1;
  }
  for (const auto& [from, to] : edges) {
    a[from][to] = a[to][from] = 1;
  }
  for (std::size_t i = 0; i < kNodes; ++i) {
    for (std::size_t j = 0; j < kNodes; ++j) {
      degree[i] += a[i][j];
    }
  }
  const SparseRows sparse = normalised_adjacency(kNodes, edges);
  EXPECT_EQ(sparse.num_entries(), 5 + 2 * 3);
  const auto dense = sparse.dense().to_vector<double>();
  for (std::size_t i = 0; i < kNodes; ++i) {
    for (std::size_t j = 0; j < kNodes; ++j) {
      EXPECT_NEAR(dense[i * kNodes + j], a[i][j] / std::sqrt(degree[i] * degree[j]), 1e-7);
    }
  }
  EXPECT_THROW(normalised_adjacency(2, std::vector<Edge>{{0, 2}}), InvalidArgument);
}

TEST(Cora, ReadsFourFiles) {
  const TemporaryFolder folder;
  folder.write("cora/features.txt", "0 3\n\n1 2 3\n");
  folder.write("cora/labels.txt", "0\n2\n1\n");
  folder.write("cora/split.txt", "test\ntrain\nval\n");
  folder.write("cora/edges.tsv", "0\t2\n");
  const CitationGraph graph = cora(folder.path());
  EXPECT_EQ(graph.num_nodes(), 3);
  EXPECT_EQ(graph.num_classes, 3);
  EXPECT_THAT(graph.train, ElementsAre(1));
  EXPECT_THAT(graph.validation, ElementsAre(2));
  EXPECT_THAT(graph.test, ElementsAre(0));
  EXPECT_THAT(graph.features.values(0), ElementsAre(0.5F, 0.5F));
  EXPECT_THAT(cora(folder.path(), {.normalise_features = false}).features.values(0),
              ElementsAre(1, 1));
  EXPECT_THAT(graph.adjacency.columns(2), ElementsAre(0, 2));

  const auto refused = [&](const char* file, const char* content, const std::string& message) {
    const std::string before = read_text(folder.path() / "cora" / file);
    const auto path = folder.write(std::string("cora/") + file, content);
    expect_error<DataError>(path.string() + message, [&] { cora(folder.path()); });
    folder.write(std::string("cora/") + file, before);
  };
  refused("features.txt", "3 0\n\n1\n", ":1: feature 0 comes after 3; they must ascend");
  refused("labels.txt", "0\n", " has 1 lines, there are 3 nodes");
  refused("split.txt", "test\n", " has 1 lines, there are 3 nodes");
  refused("split.txt", "tset\n", ":1: found 'tset'; accepted: train, val, test, none");
  refused("edges.tsv", "0\t3\n", ":1: a node must be a whole number within [0, 2], found '3'");
}

TEST(Hyperspectral, ScenesAreDividedClassByClass) {
  constexpr std::int64_t kRows = 10, kColumns = 12, kBands = 3;
  std::vector<std::uint8_t> truth;
  std::vector<std::int32_t> cube;
  for (std::int32_t i = 0; i < kRows * kColumns; ++i) {
    truth.push_back(i % 4 == 0 ? 0 : i % 4 == 1 ? 7 : 9);  // 30 without, 30 of 7, 60 of 9
    cube.insert(cube.end(), {i, 2 * i, 5});
  }
  const Tensor values = Tensor::of<std::int32_t>({kRows, kColumns, kBands}, cube);
  const Tensor classes = Tensor::of<std::uint8_t>({kRows, kColumns}, truth);
  const Splits splits = divide_scene(values, classes, {.train = 0.5, .validation = 0.25});
  EXPECT_EQ(splits.num_classes, 2);
  EXPECT_EQ(splits.train->size(), 15 + 30);
  EXPECT_EQ(splits.validation->size(), 7 + 15);
  EXPECT_EQ(splits.test->size(), 8 + 15);
  const auto x = take_all(*splits.train).at("x").to_vector<double>();
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); i += kBands) {
    sum += x[i];
    squares += x[i] * x[i];
    EXPECT_NEAR(x[i], x[i + 1], 1e-5);  // a multiple is the same, standardised
    EXPECT_EQ(x[i + 2], 0);             // a constant band
  }
  EXPECT_NEAR(sum / 45, 0, 1e-6);
  EXPECT_NEAR(squares / 45, 1, 1e-6);
  std::set<double> seen;
  for (const DatasetPtr& part : {splits.train, splits.validation, splits.test}) {
    const Batch all = take_all(*part);
    for (std::int64_t i = 0; i < part->size(); ++i) {
      EXPECT_TRUE(seen.insert(all.at("x").data<float>()[i * kBands]).second);
    }
  }
  EXPECT_NE(
      x, take_all(*divide_scene(values, classes, {.seed = 1}).train).at("x").to_vector<double>());
  EXPECT_THROW(divide_scene(values, classes, {.train = 0.9, .validation = 0.2}), InvalidArgument);
  EXPECT_THROW(divide_scene(classes, classes, {}), DataError);
}

TEST(Hyperspectral, FoldsCoverEveryPixelOnce) {
  const TemporaryFolder folder;
  folder.write("indian_pines/x_695.npy",
               npy_file("<f4", "(5, 1)", bytes_of({0.F, 1.F, 2.F, 3.F, 4.F})));
  folder.write("indian_pines/y_695.npy", npy_file("|u1", "(5,)", "\1\1\1\2\2"));
  std::multiset<float> tested;
  for (const std::int64_t fold : {0, 1}) {
    const Splits splits = indian_pines(folder.path(), {.folds = 2, .fold = fold});
    EXPECT_EQ(splits.train->size() + splits.test->size(), 5);
    for (const float value : take_all(*splits.test).at("x").to_vector<float>()) {
      tested.insert(value);
    }
  }
  EXPECT_THAT(tested, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THROW(indian_pines(folder.path(), {.folds = 2, .fold = 2}), InvalidArgument);
  const auto y = folder.write("indian_pines/y_695.npy", npy_file("|u1", "(5,)", "\1\1\1\2\x11"));
  expect_error<DataError>(y.string() + " names class 17; accepted: 1 to 16",
                          [&] { indian_pines(folder.path()); });
}

TEST(Sets, ExtremeInBothLayouts) {
  const TemporaryFolder folder;
  folder.write("xmc/toy_train.txt", "1 5 3\n2 1:1\n");
  folder.write("xmc/toy_test.txt", "1 5 3\n1 1:1\n");
  folder.write("xmc/Amazon-670K/train.txt", "1 135909 670091\n7,670090 1:1 135908:0.25\n");
  folder.write("xmc/Amazon-670K/test.txt", "1 135909 670091\n7 1:1\n");
  EXPECT_EQ(extreme("toy", folder.path()).num_classes, 3);
  const Splits amazon = extreme("Amazon-670K", folder.path());
  EXPECT_EQ(amazon.num_classes, 670'091);
  EXPECT_EQ(amazon.num_features, 135'909);
  folder.write("xmc/toy_test.txt", "1 6 3\n1 1:1\n");
  expect_error<DataError>(
      "the parts of toy differ: 5 features and 3 labels for training, 6 and 3 for testing",
      [&] { extreme("toy", folder.path()); });
}

TEST(Sets, ExtremeFilesAnywhere) {
  const TemporaryFolder folder;
  folder.write("train_train.txt.gz", "");
  folder.write("train_test.txt", "");
  folder.write("trn.txt", "1 5 3\n2 1:1\n");
  folder.write("tst.txt", "2 5 3\n2 1:1\n 3:2\n");
  folder.write("x_train.txt", "");
  EXPECT_EQ(extreme_test_file(folder / "train_train.txt.gz"), folder / "train_test.txt");
  EXPECT_EQ(extreme_test_file(folder / "trn.txt"), folder / "tst.txt");
  const Splits splits = extreme_files(folder / "trn.txt", folder / "tst.txt");
  EXPECT_EQ(splits.train->size(), 1);
  EXPECT_EQ(splits.test->size(), 2);
  EXPECT_EQ(splits.num_classes, 3);
  const std::string place = folder.path().string();
  expect_error<DataError>("there is no file of test points for " + place +
                              "/x_train.txt: no x_test.txt (nor with .gz "
                              "or .xz) beside it",
                          [&] { extreme_test_file(folder / "x_train.txt"); });
  expect_error<DataError>("the name of " + place +
                              "/other does not say how that of its test "
                              "points is: it has no 'train'",
                          [&] { extreme_test_file(folder / "other"); });
}

}  // namespace antichain::data::sets_test
