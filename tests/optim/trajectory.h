// A small non-convex problem with several parameters, solved twice: by a graph, and by loops in
// float64 that know nothing of the library.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::optim {

// Two layers, tanh between them, mean squared error: parameters "w" [3, 2], "v" [2] and "bias" [].
inline constexpr std::size_t kW = 6, kV = 2, kNumParameters = kW + kV + 1;
inline constexpr int kSteps = 60;

/// All parameters, w first; a point of the trajectory.
using Point = std::array<double, kNumParameters>;
/// The elements of one parameter: [first, first + count).
struct Block {
  std::size_t first, count;
};
inline constexpr std::array<Block, 3> kBlocks = {{{0, kW}, {kW, kV}, {kW + kV, 1}}};

Point start();
/// Returns the loss, and its gradient by the chain rule written out. Batches 0, 1, ... differ.
double loss_at(const Point& point, int batch, Point& gradient);

/// Changes a point by its gradient at step 1, 2, ...
using Rule = std::function<void(Point& point, const Point& gradient, int step)>;
/// Returns the points after each step.
std::vector<Point> by_hand(const Rule& rule, int steps = kSteps);

using Optimiser = std::function<std::vector<Var>(Var loss)>;
/// Returns the points after each run of one executable, likewise. The session's states after
/// `split` runs go into a new session, if `split` is not negative.
std::vector<Point> by_graph(const Optimiser& optimiser, int runs = kSteps, DType dtype = f64,
                            int split = -1);

/// Expects that the graph follows the loops, that it moves, and that it gives the same bits when a
/// new session takes over its states half-way. Values are about 1.
void expect_trajectory(const Rule& rule, const Optimiser& optimiser, double rounding = 1e-12);

}  // namespace antichain::optim
