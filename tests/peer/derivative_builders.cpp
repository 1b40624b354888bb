// Models whose outputs are derivatives themselves, and what stops a derivative.
#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

Vars build_gradient_penalty(const Case&, const Vars& in) {
  const Var critic = matmul(tanh(matmul(in.at(0), in.at(1)) + in.at(2)), in.at(3));
  const Var slope = grad(critic, in[0]);
  return {mean(critic), mean(square(sqrt(sum(square(slope), {1})) - 1))};
}

}  // namespace

Builders derivative_builders() {
  return {{"gradient_penalty", build_gradient_penalty},
          {"stop_gradient", [](const Case&, const Vars& in) -> Vars {
             return {in.at(0) * stop_gradient(sin(in[0]))};
           }}};
}

}  // namespace antichain::peer
