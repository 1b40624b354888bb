// Jacobians of pooling.
#include "antichain/engines/scan/jacobian_use.h"
#include "antichain/engines/scan/window_patterns.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

namespace {

// What pooling does to an example.
struct Pooling {
  AxisOrder order;
  Windows windows;
  std::int64_t channels;

  explicit Pooling(const JacobianUse& use) : order(AxisOrder::of(use.op.attrs())) {
    Shape x = use.x_shape, y = use.y_shape;
    x.insert(x.begin(), 1);
    y.insert(y.begin(), 1);
    windows = {order.spatial(x), use.op.attrs().get<Ints>("window"), order.spatial(y),
               WindowSteps::of(use.op.attrs())};
    channels = order.channels(x);
  }

  // The position within its channel of a number of x or y.
  std::int64_t position(std::int64_t number, const Shape& spatial) const {
    return order.channels_last ? number / channels : number % numel(spatial);
  }
};

}  // namespace

// One element of every window is 1: the one that won.
BuildJacobian max_pool_jacobian(const JacobianUse& use) {
  return [use] {
    const Pooling pooling(use);
    CsrPattern pattern = pool_pattern(pooling.windows, pooling.channels, pooling.order);
    std::vector<std::int64_t> positions;
    for (const std::int32_t row : rows_of_elements(pattern)) {
      positions.push_back(pooling.position(row, pooling.windows.input));
    }
    const Var own = constant(use.graph(), Tensor::of<std::int64_t>({pattern.stored()}, positions));
    const Var winners =
        gather(flat_examples(use.op.output(1)), constant_indices(use.graph(), pattern.columns), 1);
    return make_jacobian(std::move(pattern), cast(equal(winners, own), use.x.dtype()));
  };
}

BuildJacobian avg_pool_jacobian(const JacobianUse& use) {
  return [use] {
    const Pooling pooling(use);
    CsrPattern pattern = pool_pattern(pooling.windows, pooling.channels, pooling.order);
    // How many elements each window is divided by, without padding.
    std::vector<double> counts(static_cast<std::size_t>(numel(pooling.windows.output)));
    for_each_tap(pooling.windows, [&](std::int64_t output, std::int64_t, std::int64_t) {
      ++counts[static_cast<std::size_t>(output)];
    });
    const auto whole = static_cast<double>(numel(pooling.windows.window));
    const bool count_padding = use.op.attrs().get<bool>("count_padding");
    std::vector<double> shares;
    for (const std::int32_t column : pattern.columns) {
      const std::int64_t output = pooling.position(column, pooling.windows.output);
      shares.push_back(1 / (count_padding ? whole : counts[static_cast<std::size_t>(output)]));
    }
    const Tensor values = Tensor::of<double>({1, pattern.stored()}, shares).cast(use.x.dtype());
    return make_jacobian(std::move(pattern), constant(use.graph(), values));
  };
}

}  // namespace antichain::scan
