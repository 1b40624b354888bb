#include "antichain/backends/cuda/scans/weighted_launches.h"

#include <algorithm>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/scans/weighted_scan_kernels.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kLongestChunk = std::int64_t{1} << 30;  // kernels count steps in 32 bits

// Slots of the arguments.
struct WeightedSlot {
  enum : std::size_t {
    kSteps,
    kPlaces,
    kReverse,
    kChunk,
    kChunks,
    kWeightsAt,
    kBAt,
    kInitialAt,
    kBefore,
    kLast,
    kProducts,
    kCarried,
    kGroup,
    kGroups,
    kJoined,
    kEntered,
    kFactors  // of each weight; coefficients are behind them
  };
};

}  // namespace

WeightedLaunches::WeightedLaunches(const Context& device, const WeightedForm& form,
                                   const WeightedSizes& sizes, bool reverse, std::int64_t chunk) {
  const device::ScanLayout layout = scan_layout(form, sizes.units, sizes.adds);
  const std::int64_t steps = sizes.steps, places = sizes.places;
  chunk = std::min({chunk, steps, kLongestChunk});
  const std::int64_t chunks = divided_up(steps, chunk);
  const std::int64_t group = choose_group(layout, chunks);
  const std::int64_t groups = divided_up(chunks, group);
  std::vector<std::int64_t> slots = {steps, places, reverse ? 1 : 0, chunk, chunks};
  coefficients_at_ = WeightedSlot::kFactors + form.weight_to.size();
  slots.resize(coefficients_at_ + form.diagonals.size() + form.products.size());
  slots[WeightedSlot::kGroup] = group;
  slots[WeightedSlot::kGroups] = groups;
  const std::string text = weighted_scan_text(form, sizes.units, sizes.adds);
  const auto launch = [&](const char* name, std::int64_t blocks, int threads, int floats) {
    return Launch(device, text, name, blocks, dim3(static_cast<unsigned>(threads)), slots,
                  static_cast<std::size_t>(floats) * sizeof(float));
  };
  const auto blocks_of = [](std::int64_t rows, int tiles, int warps) {
    return divided_up(rows, std::int64_t{tiles} * device::kTileRows * warps);
  };
  if (chunks > 1) {
    const std::int64_t walks = (chunks - 1) * places;
    const auto bytes_of = [](std::int64_t numbers) {
      return static_cast<std::size_t>(numbers) * sizeof(float);
    };
    // Rows are filled up to a multiple of four with numbers that are copied and not used.
    const auto allocate_products = [&](std::int64_t count) {
      return DeviceContext::allocate_zeros(device, bytes_of(count * layout.product_floats()));
    };
    const auto allocate_states = [&](std::int64_t count) {
      return DeviceContext::allocate(device, bytes_of(count * layout.state()));
    };
    products_ = allocate_products(walks);
    carried_ = allocate_states(chunks * places);
    launches_.push_back(
        launch("multiply_chunks",
               blocks_of(walks * layout.columns(), layout.tiles(), device::kMultiplyWarps),
               32 * device::kMultiplyWarps, layout.multiply_floats()));
    if (groups > 1) {
      joined_ = allocate_products((groups - 1) * places);
      entered_ = allocate_states(groups * places);
      launches_.push_back(launch("join_chunks", (groups - 1) * places, layout.join_threads(),
                                 layout.join_floats()));
      launches_.push_back(
          launch("walk_groups", places, layout.across_threads(), layout.across_floats()));
    }
    launches_.push_back(
        launch("walk_across", groups * places, layout.across_threads(), layout.across_floats()));
  }
  launches_.push_back(launch("walk_inside", blocks_of(chunks * places, 1, layout.inside_warps()),
                             32 * layout.inside_warps(), layout.inside_floats()));
}

void WeightedLaunches::run(const WeightedAddresses& at) {
  for (Launch& launch : launches_) {
    launch.set(WeightedSlot::kWeightsAt, at.weights);
    launch.set(WeightedSlot::kBAt, at.b);
    launch.set(WeightedSlot::kInitialAt, at.initial);
    launch.set(WeightedSlot::kBefore, at.before);
    launch.set(WeightedSlot::kLast, at.last);
    for (std::size_t i = 0; i < at.factors.size(); ++i) {
      launch.set(WeightedSlot::kFactors + i, at.factors[i]);
    }
    if (products_) {
      launch.set(WeightedSlot::kProducts, products_->data());
      launch.set(WeightedSlot::kCarried, carried_->data());
    }
    if (joined_) {
      launch.set(WeightedSlot::kJoined, joined_->data());
      launch.set(WeightedSlot::kEntered, entered_->data());
    }
    for (std::size_t i = 0; i < at.coefficients.size(); ++i) {
      launch.set(coefficients_at_ + i, at.coefficients[i]);
    }
    launch.run();
  }
}

}  // namespace antichain::cuda
