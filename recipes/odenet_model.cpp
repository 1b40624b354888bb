#include "recipes/odenet_model.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"
#include "recipes/nested_iteration.h"

namespace antichain {

namespace {

constexpr const char *kTanh = "tanh", *kSmoothRelu = "smooth-relu";

double step_size(const Settings& settings) {
  return settings.number("time") / static_cast<double>(settings.integer("layers"));
}

// Glorot's draw times a factor: small ones let weights become functions of time that are smooth.
nn::Initialiser scaled_glorot(double factor) {
  return [factor](Graph& graph, DType dtype, const Dims& shape) {
    return factor * nn::glorot_uniform(graph, dtype, shape);
  };
}

Var half_square(double factor, Var value) {
  return factor / 2 * sum(square(cast(value, value.dtype() == f64 ? f64 : f32)));
}

// What changes from layer to layer, of parameters stacked along the first axis.
Var change_over_layers(Var stacked) {
  const Dim layers = stacked.dim(0);
  return slice(stacked, {{.axis = 0, .start = 1}}) -
         slice(stacked, {{.axis = 0, .stop = layers - 1}});
}

}  // namespace

std::vector<OptionSpec> residual_options(const std::string& layers, const std::string& time) {
  std::vector<OptionSpec> options = {
      {"layers", kInteger, layers, "residual layers", 1, 1e6},
      {"time", kNumber, time, "end of the time interval; a layer is a step of time / layers", 1e-3,
       1e3},
      {.name = "activation",
       .kind = OptionKind::choice,
       .fallback = kTanh,
       .doc = "of the residual layers; smooth-relu has a quadratic piece around 0",
       .choices = {kTanh, kSmoothRelu}},
      {"initial", kNumber, "1", "factor of the first weights of the residual layers", 0, 1e3},
      {"tikhonov", kNumber, "0", "factor of half the squares of the residual layers' weights", 0,
       1e3},
      {"smoothness", kNumber, "0",
       "factor of half the squares of how these weights change over time", 0, 1e3},
      {"closing", kNumber, "0", "factor of half the squares of the closing layer's weights", 0,
       1e3}};
  const std::vector<OptionSpec> nested = nested_options();
  options.insert(options.end(), nested.begin(), nested.end());
  return options;
}

nn::ResidualOptions residual_layers(const Settings& settings) {
  nn::ResidualOptions options{.step = step_size(settings),
                              .weight = scaled_glorot(settings.number("initial"))};
  if (settings.text("activation") == kSmoothRelu) {
    options.activation = smooth_relu;
  }
  return options;
}

Var regularisation(const ModelContext& context) {
  const Settings& settings = context.settings;
  const double h = step_size(settings);
  Var total;
  const auto add = [&](const char* option, double scale, auto value) {
    if (const double factor = scale * settings.number(option); factor > 0) {
      const Var term = half_square(factor, value());
      total = total.valid() ? total + term : term;
    }
  };
  for (const Var parameter : parameters(context.graph)) {
    const std::string name = state_name(parameter);
    if (name.starts_with("residual.")) {
      add("tikhonov", 1, [&] { return parameter; });
      add("smoothness", 1 / (h * h), [&] { return change_over_layers(parameter); });
    } else if (name.starts_with("closing.")) {
      add("closing", 1, [&] { return parameter; });
    }
  }
  return total;
}

}  // namespace antichain
