#include "antichain/data/fetch.h"
#include "antichain/data/folder.h"

namespace antichain::data {

const std::vector<KnownSet>& known_sets() {
  static const std::vector<KnownSet> sets = {
      {.name = "mnist",
       .summary = "handwritten digits, 28 x 28, 10 classes, 60,000 + 10,000",
       .url = "https://ossci-datasets.s3.amazonaws.com/mnist/",
       .files = {{"train-images-idx3-ubyte.gz", 9'912'422,
                  "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
                 {"train-labels-idx1-ubyte.gz", 28'881,
                  "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
                 {"t10k-images-idx3-ubyte.gz", 1'648'877,
                  "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
                 {"t10k-labels-idx1-ubyte.gz", 4'542,
                  "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}},
       .markers = {"train-images-idx3-ubyte"}},
      {.name = "fashion_mnist",
       .summary = "articles of clothing, 28 x 28, 10 classes, 60,000 + 10,000",
       .url =
           "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
       .files = {{"train-images-idx3-ubyte.gz", 26'421'880,
                  "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
                 {"train-labels-idx1-ubyte.gz", 29'515,
                  "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
                 {"t10k-images-idx3-ubyte.gz", 4'422'102,
                  "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
                 {"t10k-labels-idx1-ubyte.gz", 5'148,
                  "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}},
       .markers = {"train-images-idx3-ubyte"},
       .system = {kDebianFashionMnist}},
      {.name = "cifar10",
       .summary = "colour images, 32 x 32, 10 classes, 50,000 + 10,000",
       .url = "https://www.cs.toronto.edu/~kriz/",
       .files = {{"cifar-10-binary.tar.gz", 170'052'171,
                  "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}},
       .markers = {"cifar-10-binary.tar", "data_batch_1.bin", "train_2k.bin"}},
      {.name = "ag_news",
       .summary = "topics of news, text, 4 classes, 120,000 + 7,600",
       .url = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/",
       .files = {{"train.csv", 29'470'338,
                  "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e"},
                 {"test.csv", 1'857'427,
                  "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699"}},
       .markers = {"train.csv", "train_part.csv"}},
      {.name = "uci_har",
       .summary = "activities by the motion of a telephone, 9 x 128, 6 classes, 7,352 + 2,947",
       .by_hand =
           "archive.ics.uci.edu, 'Human Activity Recognition Using Smartphones', the folders "
           "train and test",
       .markers = {"X_train.npy", "train/y_train.txt"}},
      {.name = "cora",
       .summary = "a graph of 2,708 papers that cite each other, 7 classes",
       .by_hand = "github.com/kimiyoung/planetoid, written as the four text files of docs/data.md",
       .markers = {"features.txt"}},
      {.name = "salinas_a",
       .summary = "hyperspectral scene, 204 bands, 6 classes, 5,348 pixels",
       .by_hand = "www.ehu.eus/ccwintco, 'Hyperspectral Remote Sensing Scenes', saved by NumPy as "
                  "cube.npy and gt.npy",
       .markers = {"cube.npy"}},
      {.name = "indian_pines",
       .summary = "695 hyperspectral pixels, 200 bands, 16 classes",
       .by_hand = "github.com/danfenghong/IEEE_TGRS_GCN, saved by NumPy as x_695.npy and y_695.npy",
       .markers = {"x_695.npy"}},
      {.name = "xmc",
       .summary = "sparse points with a few of many labels, one set per name",
       .by_hand = "manikvarma.org/downloads/XC/XMLRepository.html, train.txt and test.txt of a set "
                  "in a folder of its name",
       .markers = {"."}},  // any set of points will do
  };
  return sets;
}

}  // namespace antichain::data
