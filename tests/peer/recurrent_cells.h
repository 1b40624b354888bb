// The recurrent layers of torch.nn, built with chain from their parameters.
#pragma once

#include <span>

#include "antichain/ops/control_flow.h"

namespace antichain::peer {

/// Runs torch.nn.GRU of one layer: xs[steps, batch, width], parameters w_ih, w_hh, b_ih, b_hh.
Chain gru(Var xs, Var state, std::span<const Var> parameters, const ChainOptions& options = {});
/// Runs one layer of torch.nn.LSTM likewise; returns all h, the last h, the last c.
Vars lstm(Var xs, Var h, Var c, std::span<const Var> parameters);

}  // namespace antichain::peer
