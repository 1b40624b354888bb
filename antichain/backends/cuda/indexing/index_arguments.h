// What kernels that look at indices are given first: sizes, and where a wrong index is noted down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "antichain/backends/cuda/core/device_context.h"

namespace antichain::cuda {

// A value is seen as x[outer, size, inner], with `count` positions along its axis that are looked
// up.
struct IndexSlot {
  enum : std::size_t { kThreads, kSize, kInner, kCount, kSource, kNote, kNumCommon };
};

struct IndexSizes {
  std::int64_t threads, size, inner = 1, count = 1;
};

/// The members of the arguments' struct that hold them.
inline constexpr std::string_view kIndexMembers =
    R"(  long long threads, size, inner, count, source;
  IndexNote* note;
)";

/// Returns so many slots, of which the common ones are set; `source` is the report's number of who
/// looks (IndexReport::source_of).
std::vector<std::int64_t> index_slots(const Context& device, const IndexSizes& sizes,
                                      std::int64_t source, std::size_t num_slots);

}  // namespace antichain::cuda
