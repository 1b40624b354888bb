#include <array>
#include <cmath>
#include <numbers>

#include "antichain/base/error.h"
#include "antichain/data/class_turns.h"
#include "antichain/data/shuffled.h"
#include "antichain/data/synthetic.h"

namespace antichain::data {

namespace {

// Along which way the brightness changes: per class, how much a row and a column count.
constexpr std::array<std::array<double, 2>, 4> kDirections = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};
constexpr auto kNumDirections = static_cast<std::int64_t>(kDirections.size());
constexpr double kPeriod = 6;  // pixels

class Stripes final : public ClassTurns {
 public:
  Stripes(const StripesOptions& options, std::int64_t first, std::int64_t size)
      : ClassTurns({options.channels, options.size, options.size}, kNumDirections, first, size),
        options_(options),
        stream_(random_stream(options.seed, Purpose::points)) {}

 private:
  void draw(std::int64_t image, std::int64_t direction, float* values) const override {
    const RandomStream stream = folded_in(stream_, image);
    const double phase = uniform_f64(stream, 0);
    const auto& [down, right] = kDirections[static_cast<std::size_t>(direction)];
    for (std::int64_t i = 0; i < options_.channels * options_.size * options_.size; ++i) {
      const auto row = static_cast<double>(i / options_.size % options_.size);
      const auto column = static_cast<double>(i % options_.size);
      const double angle = 2 * std::numbers::pi * ((down * row + right * column) / kPeriod + phase);
      // Draws 0 and 1 belong to the phase: normal draws come in pairs.
      values[i] = static_cast<float>(std::sin(angle) + options_.noise * normal_f64(stream, i + 2));
    }
  }

  StripesOptions options_;
  RandomStream stream_;
};

}  // namespace

Splits stripes(const StripesOptions& options) {
  require(options.channels > 0 && options.size > 0 && options.train >= 0 && options.test >= 0 &&
              options.noise >= 0,
          "stripes need at least one channel and pixel, no negative number of images and no "
          "negative noise, got {}, {}, {}, {} and {}",
          options.channels, options.size, options.train, options.test, options.noise);
  return {.train = std::make_shared<Stripes>(options, 0, options.train),
          .validation = nullptr,
          .test = std::make_shared<Stripes>(options, options.train, options.test),
          .num_classes = kNumDirections};
}

}  // namespace antichain::data
