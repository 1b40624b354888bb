#include "antichain/backends/cpu/scans/scan_lanes.h"

#include <algorithm>

#include "antichain/backends/cpu/threads/thread_scratch.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

namespace {

// Whole cache lines, and no more than a state in double that stays in the L1 cache with what a step
// reads.
constexpr std::int64_t kFewestLaneColumns = 64, kMostLaneColumns = 2048;
constexpr std::int64_t kLanesPerCore = 2;

}  // namespace

std::int64_t columns_per_lane(std::int64_t places, int cores) {
  const std::int64_t lanes = kLanesPerCore * cores;
  const std::int64_t even = (places + lanes - 1) / lanes;
  const std::int64_t whole =
      (even + kFewestLaneColumns - 1) / kFewestLaneColumns * kFewestLaneColumns;
  return std::clamp(whole, kFewestLaneColumns, kMostLaneColumns);
}

std::int64_t ScanShape::lanes() const {
  return matrices ? places : (places + columns - 1) / columns;
}

std::int64_t ScanShape::lane_width() const { return matrices ? size : std::min(places, columns); }

ScanLanes::ScanLanes(const ScanShape& shape, const ScanLoops& loops, const void* a, const void* b,
                     const void* initial, void* before, void* last)
    : shape_(shape),
      loops_(loops),
      a_(static_cast<const std::byte*>(a)),
      b_(static_cast<const std::byte*>(b)),
      initial_(static_cast<const std::byte*>(initial)),
      before_(static_cast<std::byte*>(before)),
      last_(static_cast<std::byte*>(last)) {}

std::int64_t ScanLanes::width(std::int64_t lane) const {
  return shape_.matrices ? shape_.size
                         : std::min(shape_.columns, shape_.places - lane * shape_.columns);
}

// Where the numbers of a lane start among those of all steps.
std::int64_t ScanLanes::position(std::int64_t lane, std::int64_t step) const {
  const std::int64_t time = shape_.reverse ? shape_.steps - 1 - step : step;
  return time * shape_.places * shape_.size + lane * shape_.lane_width();
}

double* ScanLanes::work(std::int64_t lane) const {
  const std::int64_t numbers = scan_work_size(shape_.matrices, width(lane));
  return reinterpret_cast<double*>(
      thread_scratch(static_cast<std::size_t>(numbers) * sizeof(double)));
}

ScanSteps ScanLanes::steps(std::int64_t lane, std::int64_t first, std::int64_t count) const {
  const auto bytes = static_cast<std::int64_t>(size_of(shape_.dtype));
  const std::int64_t at = position(lane, first) * bytes;
  const std::int64_t numbers = shape_.places * shape_.size * (shape_.reverse ? -1 : 1);
  const std::int64_t row = shape_.matrices ? shape_.size : 1;
  return {.a = a_ + at * row,
          .b = b_ + at,
          .a_stride = numbers * row,
          .b_stride = numbers,
          .count = count,
          .width = width(lane),
          .transposed = shape_.transposed};
}

void ScanLanes::start(std::int64_t lane, double* state) const {
  visit_dtype(shape_.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* from = reinterpret_cast<const T*>(initial_) + lane * shape_.lane_width();
    std::transform(from, from + width(lane), state, [](T x) { return convert<double>(x); });
  });
}

void ScanLanes::finish(std::int64_t lane, const double* state) const {
  visit_dtype(shape_.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(last_) + lane * shape_.lane_width();
    std::transform(state, state + width(lane), to, [](double x) { return convert<T>(x); });
  });
}

void ScanLanes::run(std::int64_t lane, std::int64_t first, std::int64_t count,
                    double* state) const {
  if (count == 0) {
    return;
  }
  const auto bytes = static_cast<std::int64_t>(size_of(shape_.dtype));
  loops_.run(steps(lane, first, count), state, before_ + position(lane, first) * bytes, work(lane));
}

void ScanLanes::multiply(std::int64_t lane, std::int64_t first, std::int64_t count,
                         const AffineMap& map) const {
  loops_.multiply(steps(lane, first, count), map, work(lane));
}

void ScanLanes::join(std::int64_t lane, const AffineMap& earlier, const AffineMap& later) const {
  loops_.join(earlier, later, width(lane), work(lane));
}

void ScanLanes::apply(std::int64_t lane, const AffineMap& map, const double* from,
                      double* to) const {
  loops_.apply(map, from, to, width(lane));
}

AffineMaps::AffineMaps(const ScanShape& shape, std::int64_t maps_per_lane)
    : per_lane_(maps_per_lane),
      factors_(shape.matrices ? shape.size * shape.size : shape.lane_width()),
      exponents_(shape.matrices ? 1 : shape.lane_width()),
      offsets_(shape.lane_width()) {
  const std::int64_t maps = shape.lanes() * maps_per_lane;
  numbers_.resize(static_cast<std::size_t>(maps * (factors_ + offsets_)));
  powers_.resize(static_cast<std::size_t>(maps * exponents_));
}

AffineMap AffineMaps::at(std::int64_t lane, std::int64_t index) {
  const std::int64_t map = lane * per_lane_ + index;
  double* numbers = numbers_.data() + map * (factors_ + offsets_);
  return {.factor = numbers,
          .exponent = powers_.data() + map * exponents_,
          .offset = numbers + factors_};
}

}  // namespace antichain::cpu
