#include "antichain/engines/hashing/hashing_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace antichain::hashing {

namespace {

// Two cores of a current server, by benchmarks/run_hashing; only their ratios decide.
constexpr double kDenseFlops = 100e9, kSparseFlops = 20e9;   // multiplications and additions
constexpr double kStreamBytes = 12e9, kRowBytes = 8e9;       // of whole matrices, of rows anywhere
constexpr double kBucketSeconds = 60e-9, kIdSeconds = 2e-9;  // per bucket and per id in one
constexpr double kStepSeconds = 250e-6;                      // of ops that are small anyway
// Times that an element of the weight, its gradient and two moments is read or written in a step.
constexpr double kPasses = 10;

}  // namespace

LayerCost layer_cost(const Options& layer, std::int64_t examples) {
  const auto batch = static_cast<double>(examples);
  const auto units = static_cast<double>(layer.active.units),
             features = static_cast<double>(layer.spec.features);
  const double per_unit = 3 * 2 * batch * features;  // two gradients beside the value
  LayerCost cost{};
  cost.dense = units * (per_unit / kDenseFlops + kPasses * 4 * features / kStreamBytes);
  const auto own = static_cast<double>(layer.active.own()),
             common = static_cast<double>(layer.active.common());
  const double rows = std::min(units, common + batch * own);
  const double values = common / kDenseFlops + own / kSparseFlops;
  const auto functions = static_cast<double>(layer.spec.num_functions());
  const double buckets = batch * static_cast<double>(layer.spec.tables * layer.probes);
  const double ids = std::min(static_cast<double>(layer.tables.bucket),
                              units / static_cast<double>(layer.spec.num_codes()));
  const double rehashed =
      std::min(units, rows * static_cast<double>(layer.rehash)) / static_cast<double>(layer.rehash);
  cost.hashed = values * per_unit + rows * kPasses * 4 * features / kRowBytes +
                2 * (batch + rehashed) * features * functions / kDenseFlops +
                buckets * (kBucketSeconds + ids * kIdSeconds) + kStepSeconds;
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
