#include "antichain/ops/convolution/pooling.h"

#include <algorithm>
#include <functional>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/reference/sliding_windows.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<AttrSpec> pool_attributes(std::vector<AttrSpec> own = {}) {
  own.insert(own.end(),
             {{"window", "size of the windows, per spatial axis"},
              {"stride", "distance between windows, per spatial axis"},
              {"padding", "absent elements on both sides, per spatial axis; below the window"},
              {"channels_last", "x and outputs are [n, spatial..., c]", {false}}});
  return own;
}

Attrs pool_attrs(const PoolOptions& options) {
  const Ints no_padding(options.window.size(), 0);
  return {{"window", options.window},
          {"stride", options.stride.empty() ? options.window : options.stride},
          {"padding", options.padding.empty() ? no_padding : options.padding},
          {"channels_last", options.channels_last}};
}

Dims infer_pooled(InferContext& context) {
  context.require_inputs(1);
  const Ints& window = context.attrs().get<Ints>("window");
  require<ShapeError>(!window.empty(), "{}: the window must have one number per spatial axis",
                      context.op_name());
  require<ShapeError>(std::ranges::all_of(window, [](auto size) { return size >= 1; }),
                      "{}: the window must be 1 or more along every axis, got {}",
                      context.op_name(), to_string(window));
  context.require_rank(0, static_cast<int>(window.size()) + 2);
  const Dims& x = context.shape(0);
  const AxisOrder order = AxisOrder::of(context.attrs());
  const Dims input = order.spatial(x);
  const WindowSteps steps = WindowSteps::of(context.attrs());
  const Dims counts = count_windows(context, input, to_dims(window), steps);
  // Together these make sure that every window has an element that is not padding.
  for (std::size_t axis = 0; axis < window.size(); ++axis) {
    require<ShapeError>(steps.padding[axis] < window[axis],
                        "{}: padding {} must be smaller than the window {}", context.op_name(),
                        to_string(steps.padding), to_string(window));
    require<ShapeError>(input[axis].range().max >= 1, "{}: spatial axis {} of x, {}, is empty",
                        context.op_name(), axis, to_string(x));
    context.unify(max(input[axis], 1), input[axis], "an empty spatial axis and its smallest size");
  }
  return order.shape(x[0], order.channels(x), counts);
}

std::vector<VarType> infer_max_pool(InferContext& context) {
  const Dims shape = infer_pooled(context);
  context.require_dtype(0, kNumbers);
  return {{context.dtype(0), shape}, {DType::i64, shape}};
}

std::vector<VarType> infer_avg_pool(InferContext& context) {
  const Dims shape = infer_pooled(context);
  context.require_dtype(0, kFloats);
  return {{context.dtype(0), shape}};
}

Dims flattened(const Dims& shape, const AxisOrder& order) {
  return order.shape(shape[0], order.channels(shape), {numel(order.spatial(shape))});
}

std::vector<Var> max_pool_vjp(VjpContext& context) {
  const Var x = context.input(0), winners = context.output(1), grad = context.grad(0);
  const AxisOrder order = AxisOrder::of(context.attrs());
  const Dims planes = flattened(x.shape(), order), outputs = flattened(winners.shape(), order);
  const Var spread =
      scatter_add_along(zeros(context.graph(), x.dtype(), planes), reshape(winners, outputs),
                        reshape(grad, outputs), order.channels_last ? 1 : 2);
  return {reshape(spread, x.shape())};
}

// One window per output of one channel; a plane is a channel of an example.
struct PooledPlanes {
  AxisOrder order;
  Windows windows;
  std::int64_t batch, channels, input_size, output_size;

  explicit PooledPlanes(const KernelContext& context)
      : order(AxisOrder::of(*context.attrs)),
        windows{order.spatial(context.in(0).shape()), context.attr<Ints>("window"),
                order.spatial(context.out().shape()), WindowSteps::of(*context.attrs)},
        batch(context.in(0).shape()[0]),
        channels(order.channels(context.in(0).shape())),
        input_size(numel(windows.input)),
        output_size(numel(windows.output)) {}

  // Calls f with the indices of a position of the output and of one of the input, in every plane.
  template <class F>
  void for_each(std::int64_t output, std::int64_t input, F&& f) const {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        f(order.index(n, c, channels, output, output_size),
          order.index(n, c, channels, input, input_size));
      }
    }
  }
};

template <class C>
bool is_nan(C value) {
  return value != value;
}

void max_pool_reference(KernelContext& context) {
  const PooledPlanes planes(context);
  const std::size_t outputs = static_cast<std::size_t>(context.out().numel());
  visit_compute(context.in(0).dtype(), [&](auto zero) {
    using C = decltype(zero);
    constexpr std::int64_t kNone = -1;
    const std::vector<C> x = load<C>(context.in(0));
    std::vector<C> values(outputs);
    std::vector<std::int64_t> winners(outputs, kNone);
    for_each_tap(planes.windows, [&](std::int64_t output, std::int64_t input, std::int64_t) {
      planes.for_each(output, input, [&](std::size_t place, std::size_t from) {
        const C candidate = x[from], best = values[place];
        if (winners[place] == kNone || (!is_nan(best) && (candidate > best || is_nan(candidate)))) {
          values[place] = candidate;
          winners[place] = input;
        }
      });
    });
    store(values, context.out(0));
    store(winners, context.out(1));
  });
}

void avg_pool_reference(KernelContext& context) {
  const PooledPlanes planes(context);
  const bool count_padding = context.attr<bool>("count_padding");
  const std::vector<double> x = load<double>(context.in(0));
  std::vector<double> means(static_cast<std::size_t>(context.out().numel()));
  const double window_size = static_cast<double>(numel(planes.windows.window));
  std::vector<double> counts(means.size(), count_padding ? window_size : 0);
  for_each_tap(planes.windows, [&](std::int64_t output, std::int64_t input, std::int64_t) {
    planes.for_each(output, input, [&](std::size_t place, std::size_t from) {
      counts[place] += count_padding ? 0 : 1;
      means[place] += x[from];
    });
  });
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i] /= counts[i];
  }
  store(means, context.out());
}

// A sum over windows is a convolution with ones, each channel for itself.
std::vector<Var> decompose_avg_pool(Op op) {
  const Var x = op.input(0);
  Graph& graph = op.graph();
  if (op.attrs().get<bool>("channels_last")) {
    Attrs attrs = op.attrs();
    attrs.set("channels_last", false);
    const Var first = move_axis(x, -1, 1);
    return {move_axis(graph.add(op.def(), {first}, attrs, {}, op.location()).output(), 1, -1)};
  }
  const Ints& window = op.attrs().get<Ints>("window");
  const ConvOptions options = {.stride = op.attrs().get<Ints>("stride"),
                               .padding = op.attrs().get<Ints>("padding")};
  const auto one_channel = [](Dim batch, const Dims& spatial) {
    Dims shape = {batch, 1};
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    return shape;
  };
  const Dims input = spatial_axes(x.shape());
  const Var weight = ones(graph, x.dtype(), one_channel(1, to_dims(window)));
  const Var planes = reshape(x, one_channel(x.dim(0) * x.dim(1), input));
  const Var sums = conv(planes, weight, options);
  const Var means =
      op.attrs().get<bool>("count_padding")
          ? divide(sums, numel(window))
          : divide(sums, conv(ones(graph, x.dtype(), one_channel(1, input)), weight, options));
  return {reshape(means, op.output().shape())};
}

// Window options on inputs that are odd, prime, of one element and empty.
std::vector<Sample> pool_samples(const std::function<Var(Var, const PoolOptions&)>& pool) {
  const auto with = [&pool](const PoolOptions& options) {
    return [pool, options](Graph&, std::span<const Var> in) {
      return std::vector<Var>{pool(in[0], options)};
    };
  };
  return {
      {"one axis", {{{2, 3, 7}}}, with({.window = {3}})},
      {"two axes", {{{1, 2, 4, 5}}}, with({.window = {2, 3}})},
      {"three axes", {{{1, 2, 3, 2, 3}}}, with({.window = {2, 1, 2}})},
      {"overlap", {{{1, 2, 7}}}, with({.window = {3}, .stride = {2}})},
      {"stride above window", {{{1, 2, 7}}}, with({.window = {2}, .stride = {5}})},
      {"padding", {{{2, 1, 5}}}, with({.window = {3}, .stride = {1}, .padding = {2}})},
      {"all options", {{{1, 2, 5, 4}}}, with({{3, 2}, {2, 1}, {1, 1}})},
      {"window is all", {{{2, 2, 3, 3}}}, with({.window = {3, 3}})},
      {"one element", {{{1, 1, 1}}}, with({.window = {1}})},
      {"empty batch", {{{0, 2, 3}}}, with({.window = {2}})},
      {"one axis, channels last", {{{2, 7, 3}}}, with({.window = {3}, .channels_last = true})},
      {"all options, channels last", {{{1, 5, 4, 2}}}, with({{3, 2}, {2, 1}, {1, 1}, true})},
      {"three axes, channels last",
       {{{1, 3, 2, 3, 2}}},
       with({.window = {2, 1, 2}, .channels_last = true})},
      {"empty batch, channels last", {{{0, 3, 2}}}, with({.window = {2}, .channels_last = true})},
  };
}

std::vector<Sample> max_pool_samples() {
  std::vector<Sample> samples =
      pool_samples([](Var x, const PoolOptions& options) { return max_pool(x, options); });
  for (const bool last : {false, true}) {
    samples.push_back({last ? "with indices, channels last" : "with indices",
                       {{last ? Shape{2, 3, 4, 2} : Shape{2, 2, 3, 4}}},
                       [last](Graph&, std::span<const Var> in) {
                         const auto [values, indices] =
                             max_pool_with_indices(in[0], {{2, 3}, {1, 2}, {1, 0}, last});
                         return std::vector<Var>{values, indices};
                       }});
  }
  return samples;
}

std::vector<Sample> avg_pool_samples() {
  std::vector<Sample> samples;
  for (const bool count_padding : {true, false}) {
    for (Sample& sample : pool_samples([count_padding](Var x, const PoolOptions&options) {
           return avg_pool(x, options, count_padding);
         })) {
      sample.label += count_padding ? ", padding counts" : ", padding does not count";
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace

const OpDef& max_pool_def() {
  static const OpDef def{
      .name = "max_pool",
      .doc = "The largest element of each window of x[n, c, spatial...], and where it stands.",
      .attributes = pool_attributes(),
      .dtypes = kNumbers,
      .infer = infer_max_pool,
      .vjp = max_pool_vjp,
      .vmap = vmap_by_first_axis,
      .reference = max_pool_reference,
      .channels_last = by_attribute({0}, {0, 1}),
      .samples = max_pool_samples,
  };
  return def;
}

const OpDef& avg_pool_def() {
  static const OpDef def{
      .name = "avg_pool",
      .doc = "The mean of each window of x[n, c, spatial...].",
      .attributes = pool_attributes(
          {{"count_padding", "divide by the whole window also at the border", {true}}}),
      .infer = infer_avg_pool,
      .vmap = vmap_by_first_axis,
      .decompose = decompose_avg_pool,
      .reference = avg_pool_reference,
      .channels_last = by_attribute({0}, {0}),
      .samples = avg_pool_samples,
  };
  return def;
}

MaxPool max_pool_with_indices(const Operand& x, const PoolOptions& options) {
  const std::vector<Var> outputs = apply_all(max_pool_def(), {x}, pool_attrs(options));
  return {outputs[0], outputs[1]};
}

Var max_pool(const Operand& x, const PoolOptions& options) {
  return max_pool_with_indices(x, options).values;
}

Var avg_pool(const Operand& x, const PoolOptions& options, bool count_padding) {
  Attrs attrs = pool_attrs(options);
  attrs.set("count_padding", count_padding);
  return apply(avg_pool_def(), {x}, attrs);
}

std::vector<const OpDef*> pooling_family() { return {&max_pool_def(), &avg_pool_def()}; }

}  // namespace antichain
