// Channels last: values [n, c, spatial...] kept as [n, spatial..., c]. How ops say what they do
// with such values (OpDef::channels_last), for the pass that chooses layouts.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "antichain/graph/op_def.h"

namespace antichain {

/// The fewest axes that make a difference: batch, channels and a spatial one.
inline constexpr int kFewestMovedAxes = 3;

/// Returns where an axis of a value of this rank goes when the channels go last.
inline std::int64_t moved_axis(std::int64_t axis, int rank) {
  const std::int64_t counted = axis < 0 ? axis + rank : axis;
  return counted == 0 ? 0 : counted == 1 ? rank - 1 : counted - 1;
}

/// Returns one entry per axis in the order in which the channels are last.
template <class T>
std::vector<T> channels_moved(std::vector<T> entries) {
  std::rotate(entries.begin() + 1, entries.begin() + 2, entries.end());
  return entries;
}

/// Returns whether elements of such a shape lie in another order when the channels are last.
inline bool moves_elements(const Dims& shape) {
  const auto is_one = [](Dim dim) { return dim == Dim(1); };
  return !is_one(shape[1]) && !std::all_of(shape.begin() + 2, shape.end(), is_one);
}

/// Returns what an op does that has an attribute `channels_last`.
inline auto by_attribute(const std::vector<int>& inputs, const std::vector<int>& outputs) {
  return [inputs, outputs](Op op) -> std::optional<ChannelsLast> {
    if (op.attrs().get<bool>("channels_last")) {
      return std::nullopt;
    }
    ChannelsLast last{inputs, outputs, op.attrs()};
    last.attrs.set("channels_last", true);
    return last;
  };
}

/// Returns what an op does that has an attribute `axis`, counted in inputs and outputs of one rank.
inline auto by_axis(const std::vector<int>& inputs, const std::vector<int>& outputs) {
  return [inputs, outputs](Op op) -> std::optional<ChannelsLast> {
    const int rank = op.output(outputs.at(0)).rank();
    if (rank < kFewestMovedAxes) {
      return std::nullopt;
    }
    ChannelsLast last{inputs, outputs, op.attrs()};
    last.attrs.set("axis", moved_axis(op.attrs().get<std::int64_t>("axis"), rank));
    return last;
  };
}

}  // namespace antichain
