// Models whose outputs are derivatives themselves, and what stops a derivative.
#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/gradient_ops.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/reduce.h"
#include "tests/peer/builders.h"
#include "tests/peer/recurrent_cells.h"

namespace antichain::peer {

namespace {

Vars build_gradient_penalty(const Case&, const Vars& in) {
  const Var critic = matmul(tanh(matmul(in.at(0), in.at(1)) + in.at(2)), in.at(3));
  const Var slope = grad(critic, in[0]);
  return {mean(critic), mean(square(sqrt(sum(square(slope), {1})) - 1))};
}

Vars build_gru_hessian_vector(const Case& c, const Vars& in) {
  const Var xs = in.at(0), direction = in.at(2);
  const Chain run = gru(xs, in.at(1), std::span<const Var>(in).subspan(3));
  const Var loss = sum(square(run.last));
  if (c.get<std::string>("mode") == "forward over reverse") {
    return {hessian_vector_product(loss, xs, direction)};
  }
  return {grad(sum(grad(loss, xs) * direction), xs)};
}

}  // namespace

Builders derivative_builders() {
  return {{"gradient_penalty", build_gradient_penalty},
          {"gru_hessian_vector", build_gru_hessian_vector},
          {"stop_gradient", [](const Case&, const Vars& in) -> Vars {
             return {in.at(0) * stop_gradient(sin(in[0]))};
           }}};
}

}  // namespace antichain::peer
