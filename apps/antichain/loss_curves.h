// The losses of each step of several runs, side by side.
#pragma once

#include <string>
#include <vector>

#include "antichain/train/chart.h"
#include "apps/antichain/output.h"

namespace antichain::app {

class LossCurves {
 public:
  /// Starts the curve of another run.
  void start(std::string name) { curves_.push_back({std::move(name), {}}); }
  /// Adds the loss of the next step to the curve that was started last.
  void add(double loss) { curves_.back().losses.push_back(loss); }

  /// Returns the largest distance of a run from the first one at the same step; NaN where a loss
  /// is not finite.
  double largest_difference(std::size_t run) const;
  /// Returns the losses at some steps, from the first to the last, and the largest differences
  /// from the first run: a table for people.
  std::string table() const;
  /// Returns the same steps for programs.
  Json json() const;
  /// Draws the curves; of long runs some of the steps.
  Chart chart() const;

 private:
  struct Curve {
    std::string name;
    std::vector<double> losses;
  };
  // The numbers of at most `count` steps, evenly spread.
  std::vector<std::size_t> steps(std::size_t count) const;

  std::vector<Curve> curves_;
};

}  // namespace antichain::app
