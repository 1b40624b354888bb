// A scan on the CPU cut into lanes: parts that do not depend on each other. Of diagonals these are
// some columns each, of matrices one matrix per step each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "antichain/backends/cpu/simd/scan_loops.h"

namespace antichain::cpu {

/// What a scan computes, from its sizes alone.
struct ScanShape {
  std::int64_t steps = 0;
  std::int64_t places = 0;  // numbers or vectors beside each other in a step
  std::int64_t size = 1;    // of a vector; 1 for diagonals
  bool matrices = false, transposed = false, reverse = false;
  DType dtype = DType::f32;
  std::int64_t columns = 64;  // of a lane, of diagonals; no result depends on it

  std::int64_t lanes() const;
  /// Returns how many numbers a state has in the widest lane.
  std::int64_t lane_width() const;
};

/// Returns how many columns of a scan of diagonals make a lane on a machine with so many cores: few
/// enough that every core has some lanes, and as many as that allows, since what a step reads
/// should lie together.
std::int64_t columns_per_lane(std::int64_t places, int cores);

/// One run of a scan: where its values lie, and how its lanes are walked.
class ScanLanes {
 public:
  ScanLanes(const ScanShape& shape, const ScanLoops& loops, const void* a, const void* b,
            const void* initial, void* before, void* last);

  std::int64_t width(std::int64_t lane) const;
  /// Copies the state before the first step.
  void start(std::int64_t lane, double* state) const;
  /// Walks `count` steps from `state`, writes those before each step and leaves the last in
  /// `state`.
  void run(std::int64_t lane, std::int64_t first, std::int64_t count, double* state) const;
  /// Writes the state after all steps.
  void finish(std::int64_t lane, const double* state) const;
  /// Sets `map` to what these steps do together.
  void multiply(std::int64_t lane, std::int64_t first, std::int64_t count,
                const AffineMap& map) const;
  void join(std::int64_t lane, const AffineMap& earlier, const AffineMap& later) const;
  void apply(std::int64_t lane, const AffineMap& map, const double* from, double* to) const;
  const ScanShape& shape() const { return shape_; }

 private:
  ScanSteps steps(std::int64_t lane, std::int64_t first, std::int64_t count) const;
  std::int64_t position(std::int64_t lane, std::int64_t step) const;
  double* work(std::int64_t lane) const;

  ScanShape shape_;
  const ScanLoops& loops_;
  const std::byte *a_, *b_, *initial_;
  std::byte *before_, *last_;
};

/// Memory for maps, some per lane.
class AffineMaps {
 public:
  AffineMaps() = default;
  AffineMaps(const ScanShape& shape, std::int64_t maps_per_lane);
  AffineMap at(std::int64_t lane, std::int64_t index);

 private:
  std::int64_t per_lane_ = 0, factors_ = 0, exponents_ = 0, offsets_ = 0;
  std::vector<double> numbers_;
  std::vector<std::int64_t> powers_;
};

}  // namespace antichain::cpu
