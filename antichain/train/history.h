// What a training run has measured so far: curves over its steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace antichain {

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  // seconds since 1970, when it was measured
};
using Curve = std::vector<CurvePoint>;

/// Curves by name: "train/loss", "test/accuracy".
using History = std::map<std::string, Curve, std::less<>>;

/// Returns the seconds since 1970.
double time_now();

}  // namespace antichain
