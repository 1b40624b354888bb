#include "antichain/backends/cuda/movement/strided_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "antichain/backends/cuda/core/grid_sizes.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kCopyThreads = 256;
constexpr std::int64_t kInFlight = 4;         // units of a thread: kCopiesInFlight of copy.cuh
constexpr std::int64_t kManyUnits = 1 << 18;  // more threads than a GPU has room for at a time
constexpr std::size_t kCopyHeadSlots = 1;

std::size_t part_slots(std::size_t axes) { return 5 + 4 * axes; }

// As many places as a launch has parts, or a few more: there are fewer different kernels then.
std::size_t rounded_parts(std::size_t parts, std::size_t axes) {
  return std::min(std::bit_ceil(parts), (Launch::kMostSlots - kCopyHeadSlots) / part_slots(axes));
}

}  // namespace

std::string copy_text(std::int64_t element_bytes, std::size_t axes, std::size_t parts, bool wide) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/copy.cuh"
using namespace antichain::device;
struct Arguments {{
  long long per_thread;
  CopyPart<{0}> parts[{1}];
}};
extern "C" __global__ void strided_copy(const __grid_constant__ Arguments a) {{
  int at = 0;
  while (at + 1 < {1} && a.parts[at + 1].first_block <= blockIdx.x) {{
    ++at;
  }}
  copy_part<{2}, {3}>(a.parts[at], int(a.per_thread));
}}
)",
                     axes, parts, element_bytes, wide ? "long long" : "unsigned");
}

std::string_view word_type(std::size_t bytes) {
  return bytes == 1   ? "unsigned char"
         : bytes == 2 ? "unsigned short"
         : bytes == 4 ? "unsigned"
                      : "unsigned long long";
}

StridedCopies::StridedCopies(const Context& device, std::vector<CopyPart> parts)
    : parts_(std::move(parts)) {
  std::vector<std::size_t> together;
  std::size_t axes = 1;
  std::int64_t longest = 0;
  for (std::size_t n = 0; n < parts_.size(); ++n) {
    if (swaps_axes(parts_[n])) {
      tiled_.push_back({n, TiledCopy(device, parts_[n])});
    } else if (parts_[n].num_elements() > 0) {
      together.push_back(n);
      axes = std::max(axes, parts_[n].num_axes());
      longest = std::max(longest, parts_[n].num_elements());
    }
  }
  const std::size_t most = (Launch::kMostSlots - kCopyHeadSlots) / part_slots(axes);
  for (std::size_t first = 0; first < together.size(); first += most) {
    const std::size_t count = std::min(most, together.size() - first);
    const std::size_t places = rounded_parts(count, axes);
    const auto begin = together.begin() + static_cast<std::ptrdiff_t>(first);
    batches_.push_back(
        {{begin, begin + static_cast<std::ptrdiff_t>(count)},
         axes,
         Launch(device,
                copy_text(parts_[0].element_bytes(), axes, places, longest >= kMostOf32Bits),
                "strided_copy", 1, dim3(static_cast<unsigned>(kCopyThreads)),
                std::vector<std::int64_t>(kCopyHeadSlots + places * part_slots(axes)))});
  }
}

void StridedCopies::run(Batch& batch, std::span<const CopyEnds> ends) const {
  std::vector<std::int64_t> unit_bytes, units;
  std::int64_t all_units = 0;
  for (const std::size_t n : batch.parts) {
    const CopyPart& part = parts_[n];
    unit_bytes.push_back(part.unit_bytes(part.first_to(ends[n].to), part.first_from(ends[n].from)));
    units.push_back(part.num_elements() * part.element_bytes() / unit_bytes.back());
    all_units += units.back();
  }
  const std::int64_t per_thread = all_units >= kManyUnits ? kInFlight : 1;
  const std::size_t each = part_slots(batch.axes);
  const std::size_t places = rounded_parts(batch.parts.size(), batch.axes);
  std::int64_t blocks = 0;
  batch.launch.set(0, per_thread);
  for (std::size_t i = 0; i < places; ++i) {
    std::size_t slot = kCopyHeadSlots + i * each;
    if (i >= batch.parts.size()) {
      batch.launch.set(slot, std::numeric_limits<std::int64_t>::max());
      continue;
    }
    const std::size_t n = batch.parts[i];
    batch.launch.set(slot++, blocks);
    batch.launch.set(slot++, units[i]);
    batch.launch.set(slot++, unit_bytes[i]);
    batch.launch.set(slot++, parts_[n].first_to(ends[n].to));
    batch.launch.set(slot++, parts_[n].first_from(ends[n].from));
    for (const std::int64_t value : parts_[n].axis_slots(unit_bytes[i], batch.axes)) {
      batch.launch.set(slot++, value);
    }
    blocks += (units[i] + kCopyThreads * per_thread - 1) / (kCopyThreads * per_thread);
  }
  batch.launch.set_blocks(blocks);
  batch.launch.run();
}

void StridedCopies::run(std::span<const CopyEnds> ends) {
  for (Batch& batch : batches_) {
    run(batch, ends);
  }
  for (Tiled& each : tiled_) {
    each.copy.run(parts_[each.part].first_to(ends[each.part].to),
                  parts_[each.part].first_from(ends[each.part].from));
  }
}

}  // namespace antichain::cuda
