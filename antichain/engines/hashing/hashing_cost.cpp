#include "antichain/engines/hashing/hashing_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace antichain::hashing {

namespace {

// What a device does per second; only ratios decide.
struct DeviceSpeed {
  double dense_flops, sparse_flops;   // multiplications and additions
  double stream_bytes, row_bytes;     // of whole matrices, of rows anywhere
  double bucket_seconds, id_seconds;  // per bucket and per id in one
  double step_seconds;                // of ops that are small anyway
};
// Two cores of a current server, by benchmarks/run_hashing.
constexpr DeviceSpeed kCpu = {100e9, 20e9, 12e9, 8e9, 60e-9, 2e-9, 250e-6};
// An H200, from what its data sheet says: two thirds of its arithmetic in f32 and of the bytes of
// its memory; kernels of some microseconds, one after the other, that other steps do not have.
constexpr DeviceSpeed kGpu = {45e12, 5e12, 3.2e12, 1.6e12, 0.2e-9, 20e-12, 300e-6};

const DeviceSpeed& speed_of(DeviceKind device) { return device == DeviceKind::cpu ? kCpu : kGpu; }

// Times that an element of the weight, its gradient and two moments is read or written in a step.
constexpr double kPasses = 10;

}  // namespace

LayerCost layer_cost(const Options& layer, std::int64_t examples, DeviceKind device) {
  const DeviceSpeed& speed = speed_of(device);
  const auto batch = static_cast<double>(examples);
  const auto units = static_cast<double>(layer.active.units),
             features = static_cast<double>(layer.spec.features);
  const double per_unit = 3 * 2 * batch * features;  // two gradients beside the value
  LayerCost cost{};
  cost.dense = units * (per_unit / speed.dense_flops + kPasses * 4 * features / speed.stream_bytes);
  const auto own = static_cast<double>(layer.active.own()),
             common = static_cast<double>(layer.active.common());
  const double rows = std::min(units, common + batch * own);
  const double values = common / speed.dense_flops + own / speed.sparse_flops;
  const auto functions = static_cast<double>(layer.spec.num_functions());
  const double buckets = batch * static_cast<double>(layer.spec.tables * layer.probes);
  const double ids = std::min(static_cast<double>(layer.tables.bucket),
                              units / static_cast<double>(layer.spec.num_codes()));
  const double rehashed =
      std::min(units, rows * static_cast<double>(layer.rehash)) / static_cast<double>(layer.rehash);
  cost.hashed = values * per_unit + rows * kPasses * 4 * features / speed.row_bytes +
                2 * (batch + rehashed) * features * functions / speed.dense_flops +
                buckets * (speed.bucket_seconds + ids * speed.id_seconds) + speed.step_seconds;
  return cost;
}

std::string describe(const Options& layer, const LayerCost& cost, bool is_hashed) {
  if (!is_hashed) {
    return fmt::format("dense: {} units take about {:.2g} ms a step, {} active ones {:.2g}",
                       layer.active.units, cost.dense * 1e3, layer.active.active,
                       cost.hashed * 1e3);
  }
  return fmt::format(
      "hashed: {} of {} units for each {}, {} of them drawn, by {} tables of {} buckets; about "
      "{:.2g} ms a step, {:.2g} if dense",
      layer.active.active, layer.active.units, layer.active.shared ? "batch" : "example",
      layer.active.drawn, layer.spec.tables, layer.spec.num_codes(), cost.hashed * 1e3,
      cost.dense * 1e3);
}

}  // namespace antichain::hashing
