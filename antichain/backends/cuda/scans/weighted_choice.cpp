#include "antichain/backends/cuda/scans/weighted_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace antichain::cuda {

namespace {

// What bench_gpu_scan and a profiler say of an H200, in round numbers. Products are those of
// 16 x 8 x 8 numbers by tensor cores.
constexpr double kSecondsOfProduct = 11.5e-12;      // by all multiprocessors together
constexpr double kSecondsOfProductByWarp = 4.6e-9;  // that is nearly alone
constexpr double kSecondsOfStep = 250e-9;           // of a warp, beside its products
constexpr double kBytesPerSecond = 4.5e12;          // of the walks inside, beside their steps
constexpr double kSecondsOfMultiplying = 7e-6, kSecondsOfWalking = 5e-6;  // whatever there is to do
constexpr double kSecondsOfKernel = 3e-6;

constexpr std::int64_t kChunks[] = {8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};

// To walk across a chunk, and to join it to others.
double seconds_to_cross(const device::ScanLayout& layout) {
  const double size = layout.state() / 20.0;
  return 0.15e-6 + 0.1e-6 * size * size;
}
double seconds_to_join(const device::ScanLayout& layout) {
  const double size = layout.state() / 20.0;
  return 1.05e-6 * size * size * size;
}

double seconds_across(const device::ScanLayout& layout, double chunks, double group) {
  const double cross = seconds_to_cross(layout), join = seconds_to_join(layout);
  return group < chunks ? 3 * kSecondsOfKernel + group * (cross + join) + chunks / group * cross
                        : kSecondsOfKernel + chunks * cross;
}

}  // namespace

device::ScanLayout scan_layout(const WeightedForm& form, std::int64_t units, bool adds) {
  return {static_cast<int>(units), static_cast<int>(form.states),
          static_cast<int>(form.weight_to.size()),
          static_cast<int>(form.diagonals.size() + form.products.size()), adds ? 1 : 0};
}

std::int64_t choose_group(const device::ScanLayout& layout, std::int64_t chunks) {
  const double cross = seconds_to_cross(layout), join = seconds_to_join(layout);
  const auto count = static_cast<double>(chunks);
  const double balanced = std::ceil(std::sqrt(count * cross / (cross + join)));
  const bool joins = layout.joins() &&
                     seconds_across(layout, count, balanced) < seconds_across(layout, count, count);
  return joins ? static_cast<std::int64_t>(balanced) : chunks;
}

std::vector<std::int64_t> chunks_near(std::int64_t estimated) {
  std::vector<std::int64_t> near;
  std::ranges::copy_if(kChunks, std::back_inserter(near), [estimated](std::int64_t chunk) {
    return 2 * chunk >= estimated && chunk <= 2 * estimated;
  });
  return near;
}

std::int64_t choose_chunk(const WeightedForm& form, const WeightedSizes& sizes) {
  const device::ScanLayout layout = scan_layout(form, sizes.units, sizes.adds);
  const auto steps = static_cast<double>(sizes.steps), places = static_cast<double>(sizes.places);
  const double products = 3.0 * layout.weights * layout.eights() * layout.eights();  // of a tile
  const double all = steps * places * layout.columns() / device::kTileRows * products;
  const double bytes =
      steps * places * (layout.step_floats() + layout.state()) * static_cast<double>(sizeof(float));
  const double step_of_tiles = kSecondsOfStep + products * layout.tiles() * kSecondsOfProductByWarp;
  const double step = kSecondsOfStep + products * kSecondsOfProductByWarp;
  double best = kSecondsOfWalking + steps * step;
  std::int64_t chosen = sizes.steps;
  for (const std::int64_t chunk : kChunks) {
    if (chunk >= sizes.steps) {
      break;
    }
    const auto length = static_cast<double>(chunk);
    const std::int64_t chunks = (sizes.steps + chunk - 1) / chunk;
    const double seconds = kSecondsOfMultiplying +
                           std::max(all * kSecondsOfProduct, length * step_of_tiles) +
                           seconds_across(layout, static_cast<double>(chunks),
                                          static_cast<double>(choose_group(layout, chunks))) +
                           kSecondsOfWalking + length * step + bytes / kBytesPerSecond;
    if (seconds < best) {
      best = seconds;
      chosen = chunk;
    }
  }
  return chosen;
}

}  // namespace antichain::cuda
