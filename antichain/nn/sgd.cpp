#include "antichain/nn/sgd.h"

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/state_ops.h"

namespace antichain::optim {

namespace {

void require_sgd(Var loss, const SgdOptions& options) {
  require(loss.valid(), "sgd: there is no loss");
  require<ShapeError>(loss.rank() == 0,
                      "sgd: the loss must be one number, its shape is {}; take its mean",
                      to_string(loss.shape()));
  require(std::isfinite(options.lr) && options.lr > 0, "sgd: lr must be above 0, got {}",
          options.lr);
  require(options.momentum >= 0 && options.momentum < 1,
          "sgd: momentum must be within [0, 1), got {}", options.momentum);
  require(std::isfinite(options.weight_decay) && options.weight_decay >= 0,
          "sgd: weight_decay must not be negative, got {}", options.weight_decay);
}

Var velocity(Var weight, Var gradient, const SgdOptions& options) {
  Var change = gradient;
  if (options.weight_decay > 0) {
    change = change + options.weight_decay * weight;
  }
  if (options.momentum > 0) {
    const Var last = buffer(state_name(weight) + ".momentum", zeros_like(weight));
    change = assign(weight.graph(), state_name(last), options.momentum * last + change);
  }
  return change;
}

}  // namespace

std::vector<Var> sgd(Var loss, const SgdOptions& options) {
  require_sgd(loss, options);
  const std::vector<Var> weights = parameters(loss.graph());
  require(!weights.empty(), "sgd: the graph has no parameters");
  const std::vector<Var> gradients = grad(loss, weights, {.engine = options.engine});
  std::vector<Var> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Var change = velocity(weights[i], gradients[i], options);
    updates.push_back(add_update(loss.graph(), state_name(weights[i]), -options.lr * change));
  }
  return updates;
}

}  // namespace antichain::optim
