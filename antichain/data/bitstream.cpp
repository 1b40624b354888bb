#include <algorithm>
#include <array>

#include "antichain/base/error.h"
#include "antichain/data/class_turns.h"
#include "antichain/data/shuffled.h"
#include "antichain/data/synthetic.h"

namespace antichain::data {

namespace {

constexpr std::int64_t kBitstreamClasses = 10;
constexpr double kLowest = 0.05, kStep = 0.1;                 // probabilities of a one
constexpr double kTrainFraction = 0.64, kTestFraction = 0.2;  // the rest is for validation

class Bitstream final : public ClassTurns {
 public:
  Bitstream(const BitstreamOptions& options, std::int64_t first, std::int64_t size)
      : ClassTurns({options.length}, kBitstreamClasses, first, size),
        length_(options.length),
        stream_(random_stream(options.seed, Purpose::points)) {}

 private:
  static constexpr std::int64_t kWords = std::tuple_size_v<PhiloxBlock>;

  void draw(std::int64_t sample, std::int64_t label, float* bits) const override {
    const std::uint64_t threshold =
        bernoulli_threshold(kLowest + kStep * static_cast<double>(label));
    const std::int64_t blocks = (length_ + kWords - 1) / kWords;  // of a sample, not shared
    for (std::int64_t i = 0; i < length_; i += kWords) {
      const PhiloxBlock block = stream_block(stream_, sample * blocks + i / kWords);
      for (std::int64_t j = i; j < std::min(i + kWords, length_); ++j) {
        bits[j] = block[static_cast<std::size_t>(j - i)] < threshold ? 1.0F : 0.0F;
      }
    }
  }

  std::int64_t length_;
  RandomStream stream_;
};

}  // namespace

Splits bitstream(const BitstreamOptions& options) {
  require(options.length > 0 && options.samples >= 0,
          "bitstream needs at least one bit and no negative number of samples, got {} and {}",
          options.length, options.samples);
  const auto fraction = [&](double part) {
    return static_cast<std::int64_t>(part * static_cast<double>(options.samples));
  };
  const std::int64_t train = fraction(kTrainFraction), test = fraction(kTestFraction);
  const std::int64_t validation = options.samples - train - test;
  return {.train = std::make_shared<Bitstream>(options, 0, train),
          .validation = std::make_shared<Bitstream>(options, train, validation),
          .test = std::make_shared<Bitstream>(options, train + validation, test),
          .num_classes = kBitstreamClasses};
}

}  // namespace antichain::data
