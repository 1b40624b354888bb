#include "antichain/engines/scan/window_patterns.h"

namespace antichain::scan {

namespace {

// A window that covers a position, and which of its elements does.
struct Tap {
  std::int64_t output, element;
};

// The windows that cover each position of the input, in order.
std::vector<std::vector<Tap>> taps_by_input(const Windows& windows) {
  std::vector<std::vector<Tap>> taps(at(numel(windows.input)));
  for_each_tap(windows, [&](std::int64_t output, std::int64_t input, std::int64_t element) {
    taps[at(input)].push_back({output, element});
  });
  return taps;
}

// Calls f(channel, position) for every number of an example, in the order in which they lie.
template <class F>
void for_each_number(std::int64_t channels, std::int64_t positions, AxisOrder order, F&& f) {
  const std::int64_t outer = order.channels_last ? positions : channels;
  const std::int64_t inner = order.channels_last ? channels : positions;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t j = 0; j < inner; ++j) {
      order.channels_last ? f(j, i) : f(i, j);
    }
  }
}

}  // namespace

std::int64_t ConvGeometry::weight_size() const {
  return out_channels * (in_channels / groups) * numel(windows.window);
}

WeightPattern conv_pattern(const ConvGeometry& conv,
                           const std::function<bool(std::int64_t)>& keeps) {
  const auto taps = taps_by_input(conv.windows);
  const std::int64_t outputs = numel(conv.windows.output), elements = numel(conv.windows.window);
  const std::int64_t group_in = conv.in_channels / conv.groups;
  const std::int64_t group_out = conv.out_channels / conv.groups;
  WeightPattern result;
  result.pattern.num_columns = conv.out_channels * outputs;
  const auto add = [&](std::int64_t out, std::int64_t in, const Tap& tap) {
    const std::int64_t weight = (out * group_in + in % group_in) * elements + tap.element;
    if (!keeps || keeps(weight)) {
      result.pattern.columns.push_back(static_cast<std::int32_t>(
          conv.order.index(0, out, conv.out_channels, tap.output, outputs)));
      result.source.push_back(static_cast<std::int32_t>(weight));
    }
  };
  for_each_number(conv.in_channels, numel(conv.windows.input), conv.order,
                  [&](std::int64_t in, std::int64_t position) {
                    const std::int64_t first = in / group_in * group_out;
                    const std::vector<Tap>& own = taps[at(position)];
                    // In the order of the columns.
                    for_each_number(group_out, static_cast<std::int64_t>(own.size()), conv.order,
                                    [&](std::int64_t out, std::int64_t n) {
                                      add(first + out, in, own[at(n)]);
                                    });
                    result.pattern.end_row();
                  });
  return result;
}

CsrPattern pool_pattern(const Windows& windows, std::int64_t channels, AxisOrder order) {
  const auto taps = taps_by_input(windows);
  const std::int64_t outputs = numel(windows.output);
  CsrPattern pattern{.num_columns = channels * outputs};
  for_each_number(
      channels, numel(windows.input), order, [&](std::int64_t channel, std::int64_t position) {
        for (const Tap& tap : taps[at(position)]) {
          pattern.columns.push_back(
              static_cast<std::int32_t>(order.index(0, channel, channels, tap.output, outputs)));
        }
        pattern.end_row();
      });
  return pattern;
}

}  // namespace antichain::scan
