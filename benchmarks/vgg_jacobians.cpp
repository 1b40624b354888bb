#include "benchmarks/vgg_jacobians.h"

#include <algorithm>
#include <functional>
#include <random>

#include "antichain/engines/scan/window_patterns.h"

namespace antichain::bench {

namespace {

constexpr std::int64_t kVggClasses = 10, kPixels = 32;
constexpr int kPool = 0;  // among the channels of convolutions
const std::vector<int> kLayers = {64,  kPool, 128,   kPool, 256, 256,  kPool,
                                  512, 512,   kPool, 512,   512, kPool};

using Keeps = std::function<bool(std::int64_t)>;

// Says of the weights of one layer which are left.
class Pruning {
 public:
  Pruning(double kept, std::uint64_t seed) : kept_(kept), generator_(seed) {}

  Keeps of(std::int64_t size) {
    if (kept_ >= 1) {
      return {};
    }
    std::vector<std::uint64_t> magnitudes(static_cast<std::size_t>(size));
    for (std::uint64_t& magnitude : magnitudes) {
      magnitude = generator_();
    }
    std::vector<std::uint64_t> sorted = magnitudes;
    const auto dropped = static_cast<std::ptrdiff_t>(static_cast<double>(size) * (1 - kept_));
    std::nth_element(sorted.begin(), sorted.begin() + dropped, sorted.end());
    const std::uint64_t least = sorted[static_cast<std::size_t>(dropped)];
    return [magnitudes = std::move(magnitudes), least](std::int64_t weight) {
      return magnitudes[static_cast<std::size_t>(weight)] >= least;
    };
  }

 private:
  double kept_;
  std::mt19937_64 generator_;
};

scan::CsrPattern pruned(const scan::ConvGeometry& conv, Pruning& pruning) {
  return scan::conv_pattern(conv, pruning.of(conv.weight_size())).pattern;
}

std::vector<StagePattern> patterns(double kept, std::uint64_t seed, std::size_t count) {
  Pruning pruning(kept, seed);
  std::vector<StagePattern> stages;
  std::int64_t channels = 3, size = kPixels;
  for (const int layer : kLayers) {
    if (stages.size() >= count) {
      return stages;
    }
    const Shape image = {size, size};
    if (layer == kPool) {
      size /= 2;
      stages.push_back(
          {"pool", scan::pool_pattern({image, {2, 2}, {size, size}, {{2, 2}, {0, 0}, {1, 1}}},
                                      channels, AxisOrder{})});
    } else {
      stages.push_back({"conv", pruned({.windows = {image, {3, 3}, image, {{1, 1}, {1, 1}, {1, 1}}},
                                        .in_channels = channels,
                                        .out_channels = layer},
                                       pruning)});
      stages.push_back({"relu", scan::identity_pattern(layer * size * size)});
      channels = layer;
    }
  }
  // A linear layer is a convolution of one pixel.
  const WindowSteps steps{{1}, {0}, {1}};
  stages.push_back({"linear", pruned({.windows = {{1}, {1}, {1}, steps},
                                      .in_channels = channels,
                                      .out_channels = kVggClasses},
                                     pruning)});
  return stages;
}

}  // namespace

std::vector<StagePattern> vgg11_patterns(double kept, std::uint64_t seed) {
  return patterns(kept, seed, kLayers.size() * 2);
}

std::vector<StagePattern> first_of_vgg11(std::size_t count) {
  std::vector<StagePattern> stages = patterns(1, 0, count);
  stages.resize(std::min(count, stages.size()));
  return stages;
}

}  // namespace antichain::bench
