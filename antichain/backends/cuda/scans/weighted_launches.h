// The launches of a weighted scan that is cut into chunks of a certain length.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/scans/weighted_choice.h"

namespace antichain::cuda {

/// Where the inputs and outputs of a scan are, as weighted_scan.h lists them; none for outputs that
/// nobody reads, and for b where nothing is added.
struct WeightedAddresses {
  const void *weights, *initial, *b;
  std::vector<const void*> coefficients;
  const void *before, *last;
  std::vector<const void*> factors;
};

class WeightedLaunches {
 public:
  /// A chunk of all steps, or more, is one walk.
  WeightedLaunches(const Context& device, const WeightedForm& form, const WeightedSizes& sizes,
                   bool reverse, std::int64_t chunk);

  void run(const WeightedAddresses& at);

 private:
  std::size_t coefficients_at_;
  std::shared_ptr<Buffer> products_, carried_, joined_, entered_;
  std::vector<Launch> launches_;
};

}  // namespace antichain::cuda
