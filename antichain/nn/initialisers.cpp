#include "antichain/nn/initialisers.h"

#include <cmath>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"

namespace antichain::nn {

namespace {

struct Fans {
  double in, out;
};

void require_weight(const Dims& shape, std::string_view initialiser) {
  bool known = shape.size() >= 2;
  for (Dim dim : shape) {
    known = known && dim.is_constant();
  }
  require<ShapeError>(known,
                      "{}: needs the shape of a weight, [in, out] or [out, in, spatial...] with "
                      "known sizes, got {}",
                      initialiser, to_string(shape));
}

Fans fans_of(const Dims& shape, std::string_view initialiser) {
  require_weight(shape, initialiser);
  const auto first = static_cast<double>(shape[0].constant());
  const auto second = static_cast<double>(shape[1].constant());
  if (shape.size() == 2) {
    return {first, second};
  }
  const auto window = static_cast<double>(numel(Dims(shape.begin() + 2, shape.end())).constant());
  return {second * window, first * window};
}

Var draw_within(Graph& graph, DType dtype, const Dims& shape, double limit) {
  return random_uniform(graph, dtype, shape) * (2 * limit) - limit;
}

void require_box(const BoxOptions& options) {
  require(std::isfinite(options.side) && options.side > 0 && std::isfinite(options.height) &&
              options.height > 0,
          "box: side and height must be above 0, got {} and {}", options.side, options.height);
}

}  // namespace

Var glorot_uniform(Graph& graph, DType dtype, const Dims& shape) {
  const Fans fans = fans_of(shape, "glorot_uniform");
  return draw_within(graph, dtype, shape, std::sqrt(6 / (fans.in + fans.out)));
}

Var glorot_normal(Graph& graph, DType dtype, const Dims& shape) {
  const Fans fans = fans_of(shape, "glorot_normal");
  return random_normal(graph, dtype, shape) * std::sqrt(2 / (fans.in + fans.out));
}

Var he_uniform(Graph& graph, DType dtype, const Dims& shape) {
  return draw_within(graph, dtype, shape, std::sqrt(6 / fans_of(shape, "he_uniform").in));
}

Var he_normal(Graph& graph, DType dtype, const Dims& shape) {
  return random_normal(graph, dtype, shape) * std::sqrt(2 / fans_of(shape, "he_normal").in);
}

// Gram and Schmidt's process on the rows of a normal draw, row by row with every projection taken
// away twice, after which rounding errors are all that is left of it (Giraud et al., 2005).
Var orthogonal(Graph& graph, DType dtype, const Dims& shape) {
  require_weight(shape, "orthogonal");
  const Dim first = shape[0], rest = numel(Dims(shape.begin() + 1, shape.end()));
  const bool wide = first.constant() <= rest.constant();
  const Dim rows = wide ? first : rest, columns = wide ? rest : first;
  const auto add_row = [&](Var step, const Vars& states, const Vars& draws) -> StepResult {
    const Var found = states[0];
    Var row = draws[0];
    for (int round = 0; round < 2; ++round) {
      row = row - matmul(matmul(row, found, {.transpose_b = true}), found);
    }
    row = row * rsqrt(sum(square(row)));
    return {{found + expand_dims(one_hot(step, rows, dtype), 1) * row}};
  };
  const Var result = chain({zeros(graph, dtype, {rows, columns})},
                           {random_normal(graph, dtype, {rows, 1, columns})}, add_row)
                         .last[0];
  return reshape(wide ? result : transpose(result), shape);
}

Initialiser constant(double value) {
  return [value](Graph& graph, DType dtype, const Dims& shape) {
    return full(graph, dtype, shape, value);
  };
}

Initialiser uniform(double low, double high) {
  require(std::isfinite(low) && std::isfinite(high) && low < high,
          "uniform: low must be below high, got {} and {}", low, high);
  return [=](Graph& graph, DType dtype, const Dims& shape) {
    return random_uniform(graph, dtype, shape) * (high - low) + low;
  };
}

Initialiser normal(double mean, double standard_deviation) {
  require(std::isfinite(mean) && std::isfinite(standard_deviation) && standard_deviation >= 0,
          "normal: needs a mean and a standard deviation that is not negative, got {} and {}", mean,
          standard_deviation);
  return [=](Graph& graph, DType dtype, const Dims& shape) {
    return random_normal(graph, dtype, shape) * standard_deviation + mean;
  };
}

Initialiser box(const BoxOptions& options) {
  require_box(options);
  return [options](Graph& graph, DType dtype, const Dims& shape) {
    require<ShapeError>(shape.size() == 2, "box: needs the shape of a weight, [in, out], got {}",
                        to_string(shape));
    // The length of n cancels, so that a normal draw stands for a direction.
    const Var direction = random_normal(graph, dtype, shape);
    const Var point = options.side * random_uniform(graph, dtype, shape);
    const Var corner = select(greater(direction, 0), options.side * ones_like(point), 0);
    return direction * (options.height / sum(direction * (corner - point), {0}, true));
  };
}

BiasInitialiser box_bias(const BoxOptions& options) {
  require_box(options);
  return [options](Var weight) { return options.height - options.side * sum(relu(weight), {0}); };
}

}  // namespace antichain::nn
