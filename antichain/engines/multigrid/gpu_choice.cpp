#include "antichain/engines/multigrid/gpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "antichain/engines/multigrid/multigrid_cost.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::multigrid {

namespace {

// Estimates for an H200. A product waits for the one before; of few rows it takes as long as its
// matrix needs to reach a multiprocessor, of many as long as its sums.
constexpr double kSecondsOfProduct = 0.25e-6;     // with the ops behind it, however small it is
constexpr double kMatrixBytesPerSecond = 100e9;   // into one multiprocessor
constexpr double kMultiplyAddsPerSecond = 12e12;  // of all of them
constexpr double kSecondsOfKernel = 2e-6;
constexpr double kKernelsOfSolve = 12, kKernelsOfGrid = 12;  // each time a coarser grid is solved
constexpr double kPassesOverStates = 4;  // that write and read all of them, beside the chains
constexpr double kStateBytesPerSecond = 2e12;
// What multigrid may take, as a part of the time step by step, before it is chosen: estimates are
// no measurements, and going step by step is exact.
constexpr double kMargin = 0.7;

std::string milliseconds(double seconds) { return fmt::format("{:.2g} ms", seconds * 1e3); }

std::optional<double> expected(Dim dim) {
  const std::optional<std::int64_t> size = dim.expected();
  return size ? std::optional(static_cast<double>(*size)) : std::nullopt;
}

// The products of a body, and how many rows they have.
class BodyCost {
 public:
  explicit BodyCost(Op chain) {
    Graph& graph = chain.graph();
    for (Op op : schedule_region(graph, chain.regions()[0])) {
      if (&op.def() == &matmul_def()) {
        add_product(op);
      } else if (!is_cheap(op)) {
        reason_ = fmt::format("nobody has measured chains with {} in them on a GPU", op.def().name);
      }
    }
    for (int i = 0; i < ChainLayout(chain).states; ++i) {
      state_bytes_ += size_of(chain.input(i).shape()) *
                      static_cast<double>(antichain::size_of(chain.input(i).dtype()));
    }
    if (products_.empty() && reason_.empty()) {
      reason_ = "nobody has measured chains without products on a GPU";
    }
  }

  const std::string& reason() const { return reason_; }
  double state_bytes() const { return state_bytes_; }
  // Seconds of one step for so many intervals at once.
  double step(double intervals) const {
    double seconds = 0;
    for (const Product& product : products_) {
      const double alone = kSecondsOfProduct + product.matrix_bytes / kMatrixBytesPerSecond;
      seconds += std::max(alone, intervals * product.multiply_adds / kMultiplyAddsPerSecond);
    }
    return seconds;
  }

 private:
  struct Product {
    double matrix_bytes, multiply_adds;
  };

  static bool is_cheap(Op op) {
    const OpDef& def = op.def();
    return is_elementwise(def) || &def == &constant_def() || &def == &slice_def() ||
           &def == &concat_def() || &def == &reshape_def() || &def == &broadcast_to_def() ||
           &def == &grid_stride_def() || &def == &on_coarse_grids_def();
  }
  double size_of(const Dims& shape) {
    double size = 1;
    for (Dim dim : shape) {
      const std::optional<double> known = expected(dim);
      if (!known && reason_.empty()) {
        reason_ = fmt::format("nobody has said how large {} is to be expected (DimInfo::expected)",
                              dim.str());
      }
      size *= known.value_or(1);
    }
    return size;
  }
  void add_product(Op op) {
    const Dims& left = op.input(0).shape();
    const double inner = size_of(
        {op.attrs().get<bool>("transpose_a") ? left[left.size() - 2] : left[left.size() - 1]});
    products_.push_back({size_of(op.input(1).shape()) *
                             static_cast<double>(antichain::size_of(op.input(1).dtype())),
                         inner * size_of(op.output().shape())});
  }

  std::vector<Product> products_;
  double state_bytes_ = 0;
  std::string reason_;  // why nothing is known; empty: it is
};

double seconds_of_solve(const BodyCost& body, const SolveOptions& options, std::int64_t levels,
                        double length) {
  const SolveCost cost = solve_cost(options, levels);
  const auto m = static_cast<double>(options.coarsening);
  const double cycles = static_cast<double>(options.cycles);
  double steps = length / m;  // of the next coarser grid, which are intervals of this one
  double seconds = cost.relaxations * m * body.step(steps) + kKernelsOfSolve * kSecondsOfKernel +
                   kPassesOverStates * length * body.state_bytes() / kStateBytesPerSecond;
  for (std::int64_t level = 1; level < levels; ++level) {
    seconds += cycles * cost.evaluations * body.step(steps) +
               cost.solves * kKernelsOfGrid * kSecondsOfKernel;
    const bool is_coarsest = level + 1 == levels;
    const double in_a_row = is_coarsest ? steps : 2 * m;
    steps /= m;
    seconds += cost.solves * in_a_row * cost.evaluations * body.step(is_coarsest ? 1 : steps);
  }
  return seconds;
}

}  // namespace

GpuChoice choose_on_gpu(Op chain, const SolveOptions& options, std::int64_t levels) {
  const BodyCost body(chain);
  if (!body.reason().empty()) {
    return {false, "step by step: " + body.reason()};
  }
  const Dim steps = chain.attrs().get<Dim>("length");
  const std::optional<double> length = expected(steps);
  if (!length) {
    return {false, fmt::format("step by step: nobody has said how many steps to expect "
                               "(DimInfo::expected of {})",
                               steps.str())};
  }
  const double serial = *length * body.step(1);
  const double solve = seconds_of_solve(body, options, levels, *length);
  const bool by_multigrid = solve < kMargin * serial;
  return {by_multigrid,
          fmt::format("{}: {:.0f} steps take about {} in {} cycles over {} grids, {} one after the "
                      "other{}",
                      by_multigrid ? "by multigrid" : "step by step", *length, milliseconds(solve),
                      options.cycles, levels, milliseconds(serial),
                      by_multigrid ? "" : " (when=always solves by multigrid all the same)")};
}

}  // namespace antichain::multigrid
