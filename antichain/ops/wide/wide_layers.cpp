#include "antichain/ops/wide/wide_layers.h"

#include <algorithm>
#include <cmath>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain {

namespace {

constexpr int kFirstLayer = 1, kPerLayer = 2;

int num_layers(const Attrs& attrs) { return static_cast<int>(attrs.get<std::int64_t>("layers")); }

int first_label_input(const Attrs& attrs) { return kFirstLayer + kPerLayer * num_layers(attrs); }

std::vector<VarType> infer_wide_layers(InferContext& context) {
  const int labels = first_label_input(context.attrs());
  const bool losses = context.attrs().get<bool>("losses");
  require(num_layers(context.attrs()) > 0 && context.num_inputs() >= labels + (losses ? 2 : 0),
          "{}: there are {} inputs, {} layers need more", context.op_name(), context.num_inputs(),
          num_layers(context.attrs()));
  context.require_dtype(0, kFloats);
  context.require_rank(0, 2);
  const Dim batch = context.shape(0)[0];
  Dim features = context.shape(0)[1];
  for (int input = kFirstLayer; input < labels; input += kPerLayer) {
    context.require_dtype(input, {buffer_dtype(context.dtype(0))});
    context.require_dtype(input + 1, {buffer_dtype(context.dtype(0))});
    context.require_rank(input, 2);
    context.require_rank(input + 1, 1);
    context.unify(context.shape(input)[1], features, "columns of the weight and features");
    context.unify(context.shape(input + 1)[0], context.shape(input)[0],
                  "the numbers of biases and of units");
    features = context.shape(input)[0];
  }
  if (!losses) {
    return {{context.dtype(0), {batch, features}}};
  }
  for (const int input : {labels, labels + 1}) {
    context.require_dtype(input, {DType::i32, DType::i64});
    context.require_rank(input, 1);
  }
  context.unify(context.shape(labels + 1)[0], batch + 1, "row_starts and examples and one");
  return {{buffer_dtype(context.dtype(0)), {batch}}};
}

Var last_values(const WideLayers& parts) {
  Var values = parts.x;
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    const Var input = i == 0 ? values : relu(values);
    const WideLayer& layer = parts.layers[i];
    values = matmul(input, cast(layer.weight, values.dtype()), {.transpose_b = true}) +
             cast(layer.bias, values.dtype());
  }
  return values;
}

std::vector<Var> decompose_wide_layers(Op op) {
  const WideLayers parts = parts_of_wide_layers(op);
  Var logits = last_values(parts);
  if (!parts.gives_losses()) {
    return {logits};
  }
  logits = cast(logits, buffer_dtype(logits.dtype()));
  return {label_losses(logsumexp(logits, {1}), label_logits_of(logits, parts.truth), parts.truth)};
}

using Matrix = std::vector<double>;

Matrix reference_values(const KernelContext& context) {
  Matrix values = load<double>(context.in(0));
  const auto batch = static_cast<std::size_t>(context.in(0).shape()[0]);
  const int labels = first_label_input(*context.attrs);
  for (int input = kFirstLayer; input < labels; input += kPerLayer) {
    const Matrix weight = load<double>(context.in(input)),
                 bias = load<double>(context.in(input + 1));
    const std::size_t units = bias.size();
    const auto features = static_cast<std::size_t>(context.in(input).shape()[1]);
    Matrix next(batch * units);
    for (std::size_t row = 0; row < batch; ++row) {
      for (std::size_t unit = 0; unit < units; ++unit) {
        double sum = bias[unit];
        for (std::size_t i = 0; i < features; ++i) {
          const double value = values[row * features + i];
          sum +=
              (input == kFirstLayer ? value : std::max(value, 0.0)) * weight[unit * features + i];
        }
        next[row * units + unit] = sum;
      }
    }
    values = std::move(next);
  }
  return values;
}

void wide_layers_reference(KernelContext& context) {
  const Matrix logits = reference_values(context);
  if (!context.attr<bool>("losses")) {
    store(logits, context.out());
    return;
  }
  const int input = first_label_input(*context.attrs);
  const auto batch = static_cast<std::size_t>(context.out().shape()[0]);
  const std::size_t units = batch == 0 ? 0 : logits.size() / batch;
  const std::vector<std::int64_t> labels =
      checked_indices(context, input, static_cast<std::int64_t>(units));
  check_row_starts(context, input + 1, static_cast<std::int64_t>(labels.size()));
  const auto starts = load<std::int64_t>(context.in(input + 1));
  std::vector<double> losses(batch);
  for (std::size_t row = 0; row < batch; ++row) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * units);
    const double most = *std::max_element(first, first + static_cast<std::ptrdiff_t>(units));
    double total = 0, truth = 0;
    for (std::size_t unit = 0; unit < units; ++unit) {
      total += std::exp(first[static_cast<std::ptrdiff_t>(unit)] - most);
    }
    const std::int64_t count = starts[row + 1] - starts[row];
    for (std::int64_t k = starts[row]; k < starts[row + 1]; ++k) {
      truth += first[labels[static_cast<std::size_t>(k)]] / static_cast<double>(count);
    }
    losses[row] = count == 0 ? 0 : most + std::log(total) - truth;
  }
  store(losses, context.out());
}

std::vector<Sample> wide_layers_samples() {
  const auto layer = [](Inputs in, std::size_t at) {
    const DType wide = buffer_dtype(in[0].dtype());
    return WideLayer{cast(in[at], wide), cast(in[at + 1], wide)};
  };
  const auto values = [=](Graph&, Inputs in) {
    return one(wide_layers({.x = in[0], .layers = {layer(in, 1)}}));
  };
  const auto losses = [=](Graph&, Inputs in) {
    return one(
        wide_layers({.x = in[0], .layers = {layer(in, 1), layer(in, 3)}, .truth = {in[5], in[6]}}));
  };
  // Losses are wider than 16-bit logits, whose rounding they show.
  const auto f64_of = [](Shape shape) {
    return SampleInput{.shape = std::move(shape), .dtype = DType::f64};
  };
  const auto starts = [](std::vector<std::int64_t> of) {
    const auto count = static_cast<std::int64_t>(of.size());
    return indices_of({count}, std::move(of));
  };
  return {{"one layer", {{{3, 4}}, {{5, 4}}, {{5}}}, values},
          {"one unit", {{{2, 3}}, {{1, 3}}, {{1}}}, values},
          {"no examples", {{{0, 3}}, {{2, 3}}, {{2}}}, values},
          {"losses of two layers",
           {f64_of({3, 4}), f64_of({5, 4}), f64_of({5}), f64_of({7, 5}), f64_of({7}),
            indices_of({4}, {6, 0, 3, 3}), starts({0, 2, 2, 4})},
           losses}};
}

}  // namespace

WideLayers parts_of_wide_layers(Op op) {
  ensure(&op.def() == &wide_layers_def(), "{} is not wide_layers", op);
  WideLayers parts{.x = op.input(0), .layers = {}, .training = op.attrs().get<bool>("training")};
  int next = kFirstLayer;
  for (int i = 0; i < num_layers(op.attrs()); ++i, next += kPerLayer) {
    parts.layers.push_back({op.input(next), op.input(next + 1)});
  }
  if (op.attrs().get<bool>("losses")) {
    parts.truth = {op.input(next), op.input(next + 1)};
    next += 2;
  }
  const Ints& own = op.attrs().get<Ints>("own");
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::int64_t k = 0; k < own[i]; ++k) {
      parts.layers[i].own.push_back(op.input(next++));
    }
  }
  return parts;
}

Var wide_layers(const WideLayers& parts, const std::string& engine, Place place) {
  std::vector<Var> inputs = {parts.x};
  for (const WideLayer& layer : parts.layers) {
    inputs.insert(inputs.end(), {layer.weight, layer.bias});
  }
  if (parts.gives_losses()) {
    inputs.insert(inputs.end(), {parts.truth.labels, parts.truth.row_starts});
  }
  Ints own;
  for (const WideLayer& layer : parts.layers) {
    inputs.insert(inputs.end(), layer.own.begin(), layer.own.end());
    own.push_back(static_cast<std::int64_t>(layer.own.size()));
  }
  return parts.graph()
      .add(wide_layers_def(), inputs,
           {{"layers", static_cast<std::int64_t>(parts.layers.size())},
            {"losses", parts.gives_losses()},
            {"training", parts.training},
            {"own", own},
            {"engine", engine}},
           {}, place)
      .output();
}

const OpDef& wide_layers_def() {
  static const OpDef def{
      .name = "wide_layers",
      .doc =
          "Layers of relu units with weights [units, features], and perhaps the losses of the "
          "last one's values against sets of labels; an engine may compute some units only.",
      .attributes = {{"layers", "how many"},
                     {"losses", "return the loss of each example", {false}},
                     {"training", "whether an engine keeps its tables up", {true}},
                     {"own", "how many inputs are the engine's, by layer", {Ints()}},
                     {"engine", "who differentiates them", {std::string()}}},
      .infer = infer_wide_layers,
      .decompose = decompose_wide_layers,
      .reference = wide_layers_reference,
      .samples = wide_layers_samples,
  };
  return def;
}

std::vector<const OpDef*> wide_family() { return {&wide_layers_def()}; }

}  // namespace antichain
