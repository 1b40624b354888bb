// What the convolution kernels of this backend share, whichever library computes: the sizes, how
// the batch is cut, and the conversion of element types that a library does not have.
//
// The batch is cut by its shape alone, and every part is computed by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "antichain/backends/cpu/products/product_kernel.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::cpu {

/// Says which of the three is computed from the other two: output[x, weight], x[output, weight],
/// weight[output, x], in the order of the op's inputs.
enum class ConvPart { output, x, weight };

/// How x or the output lies in memory: elements from an example, a channel and a position of the
/// spatial axes to the next. More than they have where this is a slice of the channels.
struct ConvSteps {
  std::int64_t example, channel, position;

  static ConvSteps packed(std::int64_t channels, std::int64_t positions, const AxisOrder& order);
};

/// x[batch, groups * in, input...], weight[groups * out, in, window...],
/// output[batch, groups * out, windows...]; x and output may have their channels last.
struct ConvSizes {
  std::int64_t batch, groups, in, out;
  Windows windows;
  AxisOrder order;
  ConvSteps x, output;
  std::int64_t weight_step;  // elements from a row of the weight to the next

  /// Makes the sizes of packed tensors.
  static ConvSizes packed(std::int64_t batch, std::int64_t groups, std::int64_t in,
                          std::int64_t out, const Windows& windows, const AxisOrder& order = {});
  /// Reads the sizes off the tensors of an op.
  static ConvSizes of(const KernelContext& context, ConvPart part);

  /// Returns those that x and output of the same sizes have when they are packed.
  ConvSteps packed_x() const;
  ConvSteps packed_output() const;
  /// Returns the elements of one example.
  std::int64_t x_size() const { return groups * in * numel(windows.input); }
  std::int64_t output_size() const { return groups * out * numel(windows.output); }
  std::int64_t weight_size() const { return groups * out * in * numel(windows.window); }
  /// Returns the multiplications of one example, padding included.
  double work() const;
};

/// Some of the channels of a convolution without groups: those of the output, or of x where x is
/// computed. Offsets are in elements.
struct ConvSlice {
  ConvSizes sizes;
  std::int64_t first_at, second_at, result_at;

  /// Returns what this is of `examples` examples of the whole result, x or output.
  Block result_of(ConvPart part, std::int64_t examples) const;
};
ConvSlice slice_channels(const ConvSizes& sizes, ConvPart part, std::int64_t first,
                         std::int64_t length);

/// Says into how many parts the batch and the channels are cut. The channels are cut where the
/// batch alone is too small.
struct ConvGrid {
  std::int64_t batch = 1, channels = 1;
};
ConvGrid choose_conv_grid(const ConvSizes& sizes, ConvPart part);

/// Computes the part from the two others, which are packed.
using ConvFunction =
    std::function<void(const void* first, const void* second, const ProductTarget& result)>;
/// Prepares one; `apart`: blocks are packed, not parts of the result.
using MakeConv = std::function<ConvFunction(const ConvSizes&, bool apart)>;

/// Plans a convolution that is computed as `dtype`: elements of another type are converted there
/// and back. `make` sees no empty sizes.
ProductPlan plan_conv(const KernelContext& context, ConvPart part, DType dtype,
                      const MakeConv& make, Destination to);

}  // namespace antichain::cpu
