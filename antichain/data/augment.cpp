#include "antichain/data/augment.h"

#include <algorithm>
#include <cstdlib>

#include "antichain/base/error.h"

namespace antichain::data {

namespace {

// So that a shift and a flip that share a key share no bits.
constexpr std::int64_t kShiftKey = 1, kFlipKey = 2;

Tensor& find_images(Batch& batch, const std::string& name) {
  const auto found = batch.find(name);
  require(found != batch.end(), "the batch has no tensor '{}' to augment", name);
  Tensor& images = found->second;
  require<ShapeError>(images.rank() == 4 && images.dtype() == f32,
                      "'{}' must be images f32[n, c, h, w] to be augmented, found {}{}", name,
                      antichain::name(images.dtype()), to_string(images.shape()));
  return images;
}

struct Move {
  std::int64_t down = 0, right = 0;
};

// Copies one plane, h x w, moved; what is not copied stays as it is.
void move_plane(const float* from, float* to, std::int64_t height, std::int64_t width, Move move) {
  const std::int64_t first = std::max<std::int64_t>(0, move.right);
  const std::int64_t count = width - std::abs(move.right);
  for (std::int64_t row = std::max<std::int64_t>(0, move.down);
       row < height + std::min<std::int64_t>(0, move.down) && count > 0; ++row) {
    std::copy_n(from + (row - move.down) * width + first - move.right, count,
                to + row * width + first);
  }
}

}  // namespace

Augment random_shift(std::int64_t pixels, const std::string& name) {
  require(pixels >= 0, "a shift must be by 0 pixels or more, got {}", pixels);
  return [pixels, name](Batch& batch, RandomStream key) {
    Tensor& images = find_images(batch, name);
    const Tensor from = images.contiguous();
    const Tensor to = Tensor::zeros(f32, images.shape());
    const std::int64_t channels = from.shape()[1], height = from.shape()[2],
                       width = from.shape()[3];
    const RandomStream stream = folded_in(key, kShiftKey);
    const auto draw = [&](std::int64_t i) {
      return static_cast<std::int64_t>(uniform_f64(stream, i) *
                                       static_cast<double>(2 * pixels + 1)) -
             pixels;
    };
    for (std::int64_t image = 0; image < from.shape()[0]; ++image) {
      const Move move{.down = draw(2 * image), .right = draw(2 * image + 1)};
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t at = (image * channels + channel) * height * width;
        move_plane(from.data<float>() + at, to.data<float>() + at, height, width, move);
      }
    }
    images = to;
  };
}

Augment random_flip(const std::string& name) {
  return [name](Batch& batch, RandomStream key) {
    Tensor& images = find_images(batch, name);
    images = images.clone();
    const std::int64_t count = images.shape()[0], width = images.shape()[3];
    const RandomStream stream = folded_in(key, kFlipKey);
    for (std::int64_t image = 0; image < count; ++image) {
      if (uniform_f32(stream, image) < 0.5F) {
        continue;
      }
      const std::int64_t pixels = images.numel() / count;
      float* const first = images.data<float>() + image * pixels;
      for (std::int64_t row = 0; row < pixels; row += width) {
        std::reverse(first + row, first + row + width);
      }
    }
  };
}

}  // namespace antichain::data
