#include "antichain/data/shuffled.h"

#include <numeric>
#include <utility>

#include "antichain/base/error.h"

namespace antichain::data {

std::vector<std::int64_t> shuffled(std::int64_t size, std::int64_t seed, std::int64_t stream) {
  require(size >= 0, "{} samples cannot be shuffled", size);
  require(stream >= 0 && stream < kNumStreams, "orders are numbered from 0 to {}, got {}",
          kNumStreams - 1, stream);
  const RandomStream source = random_stream(seed, Purpose::order, stream);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {  // Fisher and Yates, 1938
    const auto j = static_cast<std::size_t>(uniform_f64(source, static_cast<std::int64_t>(i)) *
                                            static_cast<double>(i));
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

}  // namespace antichain::data
