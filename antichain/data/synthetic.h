// Sets that are computed, not read: the same options give the same bits everywhere.
#pragma once

#include <cstdint>

#include "antichain/data/dataset.h"

namespace antichain::data {

struct PeaksOptions {
  std::int64_t train_per_class = 1000, validation_per_class = 40;
  std::int64_t seed = 0;
};

/// Draws points of a grid over [-3, 3]², "x" f32[n, 2], whose class "y" says in which of five bands
/// of equal height MATLAB's function `peaks` lies there (Haber and Ruthotto, 2017).
Splits peaks(const PeaksOptions& options = {});

struct BitstreamOptions {
  std::int64_t length = 1000;  // bits of a sample
  std::int64_t samples = 50'000;
  std::int64_t seed = 0;
};

/// Gives streams of bits, "x" f32[n, length], of ten classes "y": class c draws ones with
/// probability 0.05 + 0.1 c (Wang, Bai and Pekhimenko, 2020). 64 % of the samples are for training,
/// 16 % for validation, 20 % for testing. Bits are drawn when taken: no length needs memory.
Splits bitstream(const BitstreamOptions& options = {});

struct PlantedOptions {
  std::int64_t num_features = 20'000, num_labels = 30'000;
  std::int64_t train = 100'000, test = 10'000;  // points
  std::int64_t max_labels = 3;                  // of a point, which has at least one
  double skew = 0.5;                            // label k comes in proportion to (k + 1)^-skew
  std::int64_t label_features = 20;             // that are typical of a label
  std::int64_t draws = 60;                      // features of a point, some of them drawn twice
  double noise = 0.25;                          // probability that a draw is any feature at all
  std::int64_t seed = 0;
};

/// Gives points with sparse features and a few of very many labels, in batches like those of
/// SparseDataset: each feature of a point is typical of one of its labels, or noise. Rows have
/// length one. Points are drawn when taken: no number of them needs memory.
Splits planted(const PlantedOptions& options = {});

struct StripesOptions {
  std::int64_t channels = 1, size = 16;  // of an image, which is a square
  std::int64_t train = 1000, test = 200;
  double noise = 0.5;  // standard deviation; the stripes go from -1 to 1
  std::int64_t seed = 0;
};

/// Gives images of stripes with noise, "x" f32[n, channels, size, size], whose class "y" is the way
/// the stripes run: across, down, or along one of the diagonals. Drawn when taken: no size and no
/// number needs memory.
Splits stripes(const StripesOptions& options = {});

}  // namespace antichain::data
