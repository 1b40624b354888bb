// replayed_chain: the way back along a chain whose forward way kept few of its states. It evaluates
// steps of the forward body again, and reverses each step once its states are there, as Revolve
// (antichain/ops/control_flow/revolve.h) says.
//
// Inputs and region parameters, in this order; "rows" are the chain's kept states, the outputs of a
// chain with the attribute `slots`:
//   inputs   rows, initial states, xs, captured, carried, sequences, captured by the way back
//   forward  (step, states, x slices, captured)                          -> states
//   back     (step, carried, states, slices of the sequences, captured)  -> carried, y slices
//   outputs  carried after the first step, ys (stacked), rows
#pragma once

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

struct ReplayedChain {
  Vars rows = {}, initial = {}, xs = {}, captured = {};  // of the chain
  Vars carried = {}, sequences = {}, back_captured = {};
  RegionId forward = {}, back = {};
  Dim length = 0;
  std::int64_t slots = 1;
  bool reverse = false;  // whether the chain itself goes from the last position to the first
};
/// Adds the op. Its outputs: as many as are carried, then the ys.
Op replayed_chain(Graph& graph, const ReplayedChain& parts, Place place = Place::current());

/// Counts inputs and outputs.
struct ReplayLayout {
  int states, xs, captured, carried, sequences;  // numbers of inputs
  explicit ReplayLayout(const Attrs& attrs);
  int first_initial() const { return states; }
  int first_x() const { return 2 * states; }
  int first_captured() const { return first_x() + xs; }
  int first_carried() const { return first_captured() + captured; }
  int first_sequence() const { return first_carried() + carried; }
  int first_back_captured() const { return first_sequence() + sequences; }
  int first_y() const { return carried; }                                // among the outputs
  int first_row(int num_outputs) const { return num_outputs - states; }  // among the outputs
};

const OpDef& replayed_chain_def();

}  // namespace antichain
