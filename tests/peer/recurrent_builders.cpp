// Recurrent and residual networks.
#include "antichain/autodiff/grad.h"
#include "antichain/nn/recurrent.h"
#include "antichain/nn/residual.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "tests/peer/builders.h"
#include "tests/peer/parameters.h"

namespace antichain::peer {

namespace {

std::int64_t hidden_of(Var start) { return start.dim(-1).constant(); }

// Inputs: xs, start, parameters; or xs, start, lengths, parameters, where only the last states are
// compared because PyTorch's others are 0 behind the end.
Builder one_layer(nn::Recurrent (*layer)(Var, std::int64_t, const nn::RecurrentOptions&, Place)) {
  return [=](const Case& c, const Vars& in) -> Vars {
    const bool padded = c.flag("padded");
    nn::RecurrentOptions options{.reverse = c.flag("reverse"),
                                 .start = expand_dims(in.at(1), 0),
                                 .step = c.get<double>("step", 1)};
    if (padded) {
      options.lengths = in.at(2);
    }
    const nn::Recurrent run = layer(in.at(0), hidden_of(in.at(1)), options, Place::current());
    const Var last = squeeze(run.last, 0);
    return with_parameters(padded ? Vars{last} : Vars{run.all, last},
                           std::span(in).subspan(padded ? 3 : 2));
  };
}

Vars build_lstm(const Case& c, const Vars& in) {
  const nn::Recurrent run =
      nn::lstm(in.at(0), hidden_of(in.at(1)),
               {.layers = c.get<std::int64_t>("layers"), .start = in[1], .start_cell = in.at(2)});
  return with_parameters({run.all, run.last, run.last_cell}, std::span(in).subspan(3));
}

Vars build_gru_hessian_vector(const Case& c, const Vars& in) {
  const Var xs = in.at(0), direction = in.at(2);
  const nn::Recurrent run = nn::gru(xs, hidden_of(in.at(1)), {.start = expand_dims(in[1], 0)});
  const Var loss = with_parameters({sum(square(run.last))}, std::span(in).subspan(3))[0];
  if (c.get<std::string>("mode") == "forward over reverse") {
    return {hessian_vector_product(loss, xs, direction)};
  }
  return {grad(sum(grad(loss, xs) * direction), xs)};
}

Builder residual_network(Chain (*layer)(Var, std::int64_t, const nn::ResidualOptions&, Place)) {
  return [=](const Case& c, const Vars& in) -> Vars {
    const Chain run = layer(in.at(0), in.at(1).dim(0).constant(), {.step = c.get<double>("step")},
                            Place::current());
    return with_parameters({run.last, run.all}, std::span(in).subspan(1));
  };
}

}  // namespace

Builders recurrent_builders() {
  return {{"rnn", one_layer(nn::rnn)},
          {"gru", one_layer(nn::gru)},
          {"implicit_gru", one_layer(nn::implicit_gru)},
          {"lstm", build_lstm},
          {"gru_hessian_vector", build_gru_hessian_vector},
          {"residual", residual_network(nn::residual)},
          {"residual_conv", residual_network(nn::residual_conv)}};
}

}  // namespace antichain::peer
