#include "antichain/data/image_dataset.h"

#include <utility>

#include "antichain/base/error.h"

namespace antichain::data {

ImageDataset::ImageDataset(const Tensor& pixels, const Tensor& labels,
                           const Normalisation& normalisation)
    : pixels_(pixels.contiguous()), labels_(labels.contiguous()) {
  require<ShapeError>(pixels_.dtype() == u8 && pixels_.rank() == 4,
                      "images must be u8[n, c, h, w], found {}{}", name(pixels_.dtype()),
                      to_string(pixels_.shape()));
  require<ShapeError>(labels_.dtype() == i64 && labels_.shape() == Shape{pixels_.shape()[0]},
                      "labels of {} images must be i64[{}], found {}{}", pixels_.shape()[0],
                      pixels_.shape()[0], name(labels_.dtype()), to_string(labels_.shape()));
  const auto channels = static_cast<std::size_t>(pixels_.shape()[1]);
  const auto fits = [&](const std::vector<float>& values) {
    return values.empty() || values.size() == channels;
  };
  require(fits(normalisation.mean) && fits(normalisation.std),
          "images of {} channels cannot be normalised by {} means and {} deviations", channels,
          normalisation.mean.size(), normalisation.std.size());
  values_.resize(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const float mean = normalisation.mean.empty() ? 0.0F : normalisation.mean[c];
    const float deviation = normalisation.std.empty() ? 1.0F : normalisation.std[c];
    require(deviation > 0, "pixels cannot be normalised by a deviation of {}", deviation);
    for (std::size_t byte = 0; byte < values_[c].size(); ++byte) {
      values_[c][byte] = (static_cast<float>(byte) / 255.0F - mean) / deviation;
    }
  }
}

Batch ImageDataset::take(std::span<const std::int64_t> numbers) const {
  check_numbers(numbers);
  Shape shape = pixels_.shape();
  shape[0] = static_cast<std::int64_t>(numbers.size());
  const std::int64_t channels = shape[1], plane = shape[2] * shape[3];
  const Tensor x = Tensor::empty(f32, shape), y = Tensor::empty(i64, {shape[0]});
  float* to = x.data<float>();
  std::int64_t* label = y.data<std::int64_t>();
  for (const std::int64_t number : numbers) {
    const std::uint8_t* from = pixels_.data<std::uint8_t>() + number * channels * plane;
    for (const Values& values : values_) {
      for (std::int64_t i = 0; i < plane; ++i) {
        *to++ = values[*from++];
      }
    }
    *label++ = labels_.data<std::int64_t>()[number];
  }
  return {{"x", x}, {"y", y}};
}

}  // namespace antichain::data
