#include <algorithm>
#include <array>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/data/folder.h"
#include "antichain/data/idx.h"
#include "antichain/data/image_dataset.h"
#include "antichain/data/tar.h"

namespace antichain::data {

namespace {

constexpr std::int64_t kImageClasses = 10;                   // of every set here
constexpr std::int64_t kCifarChannels = 3, kCifarSide = 32;  // pixels
constexpr std::size_t kCifarBytes = kCifarChannels * kCifarSide * kCifarSide;

Tensor to_labels(std::span<const std::uint8_t> bytes, std::int64_t num_classes,
                 const std::string& file) {
  const auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [&](std::uint8_t b) { return b >= num_classes; });
  require<DataError>(wrong == bytes.end(), "{} names class {}; there are {}, counted from 0", file,
                     wrong == bytes.end() ? 0 : *wrong, num_classes);
  const std::vector<std::int64_t> labels(bytes.begin(), bytes.end());
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(labels.size())}, labels);
}

DatasetPtr idx_dataset(const SetFolder& folder, const std::string& part,
                       const Normalisation& normalisation) {
  const auto images = open_file(folder.find({part + "-images-idx3-ubyte"}));
  const auto labels = open_file(folder.find({part + "-labels-idx1-ubyte"}));
  const LabelledImages both = read_idx_images(*images, *labels, kImageClasses);
  return std::make_shared<ImageDataset>(both.pixels, both.labels, normalisation);
}

Splits idx_splits(const SetFolder& folder, const Normalisation& normalisation,
                  std::vector<std::string> class_names) {
  return {.train = idx_dataset(folder, "train", normalisation),
          .test = idx_dataset(folder, "t10k", normalisation),
          .num_classes = kImageClasses,
          .class_names = std::move(class_names)};
}

DatasetPtr cifar_dataset(ByteSource& source, const Normalisation& normalisation) {
  const LabelledImages images = read_cifar(source);
  return std::make_shared<ImageDataset>(images.pixels, images.labels, normalisation);
}

struct CifarParts {
  std::vector<DatasetPtr> train;
  DatasetPtr test;
};

CifarParts cifar_archive(const std::filesystem::path& path, const Normalisation& normalisation) {
  CifarParts parts;
  visit_tar(*open_file(path), [&](const std::string& member, ByteSource& file) {
    const std::string name = std::filesystem::path(member).filename().string();
    if (name.starts_with("data_batch_")) {
      parts.train.push_back(cifar_dataset(file, normalisation));
    } else if (name == "test_batch.bin") {
      parts.test = cifar_dataset(file, normalisation);
    }
  });
  require<DataError>(!parts.train.empty() && parts.test,
                     "{} lacks data_batch_*.bin or test_batch.bin", path.string());
  return parts;
}

CifarParts cifar_files(const SetFolder& folder, const Normalisation& normalisation) {
  CifarParts parts;
  if (folder.look_for({"data_batch_1.bin"})) {
    for (int batch = 1; batch <= 5; ++batch) {
      parts.train.push_back(cifar_dataset(
          *open_file(folder.find({fmt::format("data_batch_{}.bin", batch)})), normalisation));
    }
    parts.test = cifar_dataset(*open_file(folder.find({"test_batch.bin"})), normalisation);
    return parts;
  }
  // Only the first can be there; the others are named in case that none is.
  const auto part = folder.find({"train_2k.bin", "data_batch_1.bin", "cifar-10-binary.tar"});
  parts.train.push_back(cifar_dataset(*open_file(part), normalisation));
  parts.test = cifar_dataset(*open_file(folder.find({"test_500.bin"})), normalisation);
  return parts;
}

}  // namespace

LabelledImages read_idx_images(ByteSource& images, ByteSource& labels, std::int64_t num_classes) {
  const Tensor pixels = read_idx(images), classes = read_idx(labels);
  require<DataError>(pixels.dtype() == u8 && pixels.rank() == 3,
                     "{} must hold images u8[n, h, w], found {}{}", images.name(),
                     name(pixels.dtype()), to_string(pixels.shape()));
  require<DataError>(classes.dtype() == u8 && classes.shape() == Shape{pixels.shape()[0]},
                     "{} must hold a label u8 for each of {} images, found {}{}", labels.name(),
                     pixels.shape()[0], name(classes.dtype()), to_string(classes.shape()));
  return {pixels.reshape({pixels.shape()[0], 1, pixels.shape()[1], pixels.shape()[2]}),
          to_labels({classes.data<std::uint8_t>(), static_cast<std::size_t>(classes.numel())},
                    num_classes, labels.name())};
}

LabelledImages read_cifar(ByteSource& source) {
  std::vector<std::uint8_t> labels, pixels;
  std::array<std::byte, 1 + kCifarBytes> record{};
  while (const std::size_t count = source.read(record)) {
    require<DataError>(count == record.size(),
                       "{} breaks off in image {}: {} bytes of {} are missing", source.name(),
                       labels.size(), record.size() - count, record.size());
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(record.data());
    labels.push_back(bytes[0]);
    pixels.insert(pixels.end(), bytes + 1, bytes + record.size());
  }
  return {Tensor::of<std::uint8_t>(
              {static_cast<std::int64_t>(labels.size()), kCifarChannels, kCifarSide, kCifarSide},
              pixels),
          to_labels(labels, kImageClasses, source.name())};
}

Splits mnist(const std::filesystem::path& folder, const Normalisation& normalisation) {
  return idx_splits({folder, "mnist"}, normalisation,
                    {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

Splits fashion_mnist(const std::filesystem::path& folder, const Normalisation& normalisation) {
  return idx_splits({folder, "fashion_mnist", {kDebianFashionMnist}}, normalisation,
                    {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
                     "sneaker", "bag", "ankle boot"});
}

Splits cifar10(const std::filesystem::path& folder, const Normalisation& normalisation) {
  const SetFolder set(folder, "cifar10");
  const auto archive = set.look_for({"cifar-10-binary.tar"});
  CifarParts parts =
      archive ? cifar_archive(*archive, normalisation) : cifar_files(set, normalisation);
  return {.train = parts.train.size() == 1 ? parts.train[0] : concat(parts.train),
          .test = parts.test,
          .num_classes = kImageClasses,
          .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                          "ship", "truck"}};
}

}  // namespace antichain::data
