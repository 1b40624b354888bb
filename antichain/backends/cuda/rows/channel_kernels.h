// Sums over all axes but that of the channels: what batch norm needs, in one launch.
#pragma once

#include <cstdint>
#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// How sums over packed values [outer, channels, inner] are dealt to blocks of 256 threads: see
/// device/channel_sums.cuh. Sizes alone decide, never the GPU.
struct ChannelSplit {
  ChannelSplit(std::int64_t outer, std::int64_t channels, std::int64_t inner, DType dtype);

  /// Returns how many groups of blocks there are; each has `parts` of them.
  std::int64_t groups() const;
  /// Returns how many channels a block adds up.
  std::int64_t block_channels() const { return columns ? across * run : across; }

  std::int64_t channels;
  bool columns;            // channels lie side by side
  std::int64_t run;        // elements that are read at once
  std::int64_t count;      // runs of a channel, or of neighbouring ones where these are columns
  std::int64_t across;     // threads beside each other, for different channels
  std::int64_t along;      // threads that share the runs of a channel
  std::int64_t parts = 1;  // blocks that do
  std::int64_t length;     // runs of each of those blocks
};

enum class ChannelSum { moments, gradient };

/// Returns the kernel for values of type `dtype` and results of type `stat`.
std::string channel_sum_text(ChannelSum kind, DType dtype, DType stat, const ChannelSplit& split);

void register_channel_sums(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
