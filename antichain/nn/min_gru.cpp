#include "antichain/nn/min_gru.h"

#include <cmath>

#include "antichain/autodiff/engine.h"
#include "antichain/nn/layer.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::nn {

Var min_gru(Var xs, std::int64_t hidden, const MinGruOptions& options, Place place) {
  const UserCall call(xs, place);
  constexpr std::string_view kKind = "min_gru";
  const Layer layer(kKind, xs, options.name);
  require_positive(kKind, "hidden", hidden);
  require<ShapeError>(xs.rank() == 3, "{}: xs must be [{}, features], their shape is {}", kKind,
                      options.batch_first ? "batch, time" : "time, batch", to_string(xs.shape()));
  require<ShapeError>(!options.start.valid() || options.start.rank() == 2,
                      "{}: a start must be [batch, hidden], its shape is {}", kKind,
                      options.start.valid() ? to_string(options.start.shape()) : "");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const Initialiser draw = options.parameters ? options.parameters : uniform(-bound, bound);
  const Var weight = layer.parameter("weight_ih", {2 * hidden, require_features(kKind, xs)}, draw);
  const Var bias = layer.parameter("bias_ih", {2 * hidden}, draw);
  const Var by_time = options.batch_first ? swap_axes(xs, 0, 1) : xs;
  const Var start = options.start.valid() ? layer.used(options.start)
                                          : zeros(xs.graph(), xs.dtype(), {by_time.dim(1), hidden});
  const EngineChoice engine(xs.graph().engine_for(options.engine));
  const EngineSet* const engines = xs.graph().engines().get();
  const bool by_scan = engines != nullptr && engines->find(engine.name()).scans_recurrences();
  // A scan has one step more, whose state before it is the one after the last: so the states after
  // each step are a part of those before each, and need no memory of their own. The gradient of
  // what that step adds is 0.
  const Var steps =
      by_scan ? pad(by_time, {options.reverse ? 1 : 0, 0, 0}, {options.reverse ? 0 : 1, 0, 0})
              : by_time;
  // Products of their own, so that their gradients are, too, and need not be joined.
  const std::vector<Var> weights = split(layer.used(weight), {hidden, hidden}, 0),
                         biases = split(layer.used(bias), {hidden, hidden}, 0);
  const auto gate = [&](std::size_t i) {
    return matmul(steps, weights[i], {.transpose_b = true}) + biases[i];
  };
  // 1 - z and z n, of which the gradients need nothing but 1 - z and n.
  const Var keep = sigmoid(-gate(0)), offered = gate(1), fresh = offered - keep * offered;
  Var all;
  if (by_scan) {
    const Var before = affine_scan(keep, fresh, start, {.reverse = options.reverse}).before;
    const Dim length = by_time.dim(0);
    all = options.reverse ? split(before, {length, 1}, 0)[0] : split(before, {1, length}, 0)[1];
  } else {
    const auto step = [](Var, const Vars& h, const Vars& x) -> StepResult {
      const Var next = x[0] * h[0] + x[1];
      return {{next}, {next}};
    };
    all = chain({start}, {keep, fresh}, step, {.engine = engine, .reverse = options.reverse}).ys[0];
  }
  return options.batch_first ? swap_axes(all, 0, 1) : all;
}

}  // namespace antichain::nn
