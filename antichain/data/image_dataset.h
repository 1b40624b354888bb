// Images of bytes with a class each, and the sets of such images that are known by name.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "antichain/data/byte_source.h"
#include "antichain/data/dataset.h"

namespace antichain::data {

/// Says how pixels, scaled to 0 … 1, go on: (pixel - mean) / std, with one entry per channel.
/// Empty: they stay as they are.
struct Normalisation {
  std::vector<float> mean = {}, std = {};
};

/// Holds images as bytes and gives "x" f32[n, c, h, w] and "y" i64[n].
class ImageDataset final : public Dataset {
 public:
  /// Takes u8[n, c, h, w] and i64[n]; throws ShapeError when they do not fit.
  ImageDataset(const Tensor& pixels, const Tensor& labels, const Normalisation& normalisation = {});
  std::int64_t size() const override { return labels_.numel(); }
  Batch take(std::span<const std::int64_t> numbers) const override;
  const Tensor& pixels() const { return pixels_; }
  const Tensor& labels() const { return labels_; }

 private:
  using Values = std::array<float, 256>;  // what becomes of each byte

  Tensor pixels_, labels_;
  std::vector<Values> values_;  // by channel
};

/// Images as a file holds them.
struct LabelledImages {
  Tensor pixels;  // u8[n, c, h, w]
  Tensor labels;  // i64[n]
};

/// Reads records of a label and 3 x 32 x 32 bytes: CIFAR-10 in its binary version.
LabelledImages read_cifar(ByteSource& source);
/// Reads an IDX file of images u8[n, h, w] and one of as many labels u8[n], of `num_classes`
/// classes.
LabelledImages read_idx_images(ByteSource& images, ByteSource& labels, std::int64_t num_classes);

// The folders are those of data_folder(); each set has a folder of its own name in it.

/// Loads the handwritten digits of LeCun et al. (1998).
Splits mnist(const std::filesystem::path& folder = {}, const Normalisation& normalisation = {});
/// Loads the articles of clothing of Xiao et al. (2017); Debian's package of them is looked for
/// last.
Splits fashion_mnist(const std::filesystem::path& folder = {},
                     const Normalisation& normalisation = {});
/// Loads the colour images of Krizhevsky (2009): from the published archive, from the six files in
/// it, or the part train_2k.bin, test_500.bin.
Splits cifar10(const std::filesystem::path& folder = {}, const Normalisation& normalisation = {});

}  // namespace antichain::data
