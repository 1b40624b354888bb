#include "antichain/nn/initialisers.h"

#include <cmath>

#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/random.h"

namespace antichain::nn {

namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const Dims& shape, std::string_view initialiser) {
  require<ShapeError>(shape.size() == 2 && shape[0].is_constant() && shape[1].is_constant(),
                      "{}: needs the shape of a weight, [in, out] with known sizes, got {}",
                      initialiser, to_string(shape));
  return {static_cast<double>(shape[0].constant()), static_cast<double>(shape[1].constant())};
}

}  // namespace

Var glorot_uniform(Graph& graph, DType dtype, const Dims& shape) {
  const Fans fans = fans_of(shape, "glorot_uniform");
  const double limit = std::sqrt(6 / (fans.in + fans.out));
  return random_uniform(graph, dtype, shape) * (2 * limit) - limit;
}

Var he_normal(Graph& graph, DType dtype, const Dims& shape) {
  const Fans fans = fans_of(shape, "he_normal");
  return random_normal(graph, dtype, shape) * std::sqrt(2 / fans.in);
}

Initialiser constant(double value) {
  return [value](Graph& graph, DType dtype, const Dims& shape) {
    return full(graph, dtype, shape, value);
  };
}

}  // namespace antichain::nn
