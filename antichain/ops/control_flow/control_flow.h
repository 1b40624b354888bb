// Ops with regions: call, chain, loop, cond.
//
// Inputs and region parameters, in this order:
//   op     inputs                       regions
//   call   captured                     body(captured)                         -> outputs
//   chain  states, xs, captured         body(step, states, x slices, captured) -> states, y slices
//   loop   states, captured by          condition(step, states, captured)      -> whether to go on
//          condition, by body           body(step, states, captured)           -> states
//   cond   predicate, captured by       then(captured)                         -> outputs
//          then, by otherwise           otherwise(captured)                    -> outputs
// `step` is an i64 scalar. Outputs, where "stacked" means along a new first axis:
//   chain  last states, states before each step (stacked), ys (stacked)
//   loop   last states, states before each step (stacked, length known at run time), steps taken
// The stacked states are what derivatives need; an output that nobody reads is not kept. A chain
// with `slots`, made for a memory budget, keeps that many rows of them (replayed_chain.h).
#pragma once

#include <functional>
#include <string>

#include "antichain/graph/engine_choice.h"
#include "antichain/ops/operand.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

using Vars = std::vector<Var>;

struct RegionOptions {
  EngineChoice engine = {};  // who differentiates the region
};

/// Runs `body` as a region of its own, so that an engine can be named for it.
Vars call(Graph& graph, const std::function<Vars()>& body, const RegionOptions& options = {},
          Place place = Place::current());

struct ChainOptions {
  EngineChoice engine = {};  // who differentiates it
  bool reverse = false;      // from the last position to the first
  Dim length = -1;           // needed only when there are no xs
};
struct ChainResult {
  Vars last;    // states after all steps
  Vars before;  // states before each step, stacked
  Vars ys;      // what the body returned beside its states, stacked
};
struct StepResult {
  Vars states;
  Vars ys = {};
};
/// Applies `body` along the first axis of `xs` with carried states. The general form.
ChainResult chain(
    const Vars& states, const Vars& xs,
    const std::function<StepResult(Var step, const Vars& states, const Vars& xs)>& body,
    const ChainOptions& options = {}, Place place = Place::current());

struct Chain {
  Var last;  // the state after all steps
  Var all;   // the states after each step, stacked
};
/// Applies `cell` along the first axis of `xs` with one carried state: a recurrent network in one
/// line.
Chain chain(Var state, Var xs, const std::function<Var(Var state, Var x)>& cell,
            const ChainOptions& options = {}, Place place = Place::current());

struct LoopOptions {
  EngineChoice engine = {};  // who differentiates it
  std::int64_t max_steps =
      1'000'000;  // the run fails when the condition still holds after that many
};
struct LoopResult {
  Vars last;
  Vars before;
  Var steps;  // i64 scalar
};
/// Applies `body` while `condition` holds.
LoopResult loop(const Vars& states, const std::function<Var(const Vars& states)>& condition,
                const std::function<Vars(const Vars& states)>& body,
                const LoopOptions& options = {}, Place place = Place::current());

/// Runs one of two bodies; their results must agree in type and shape.
Vars cond(Var predicate, const std::function<Vars()>& then, const std::function<Vars()>& otherwise,
          const RegionOptions& options = {}, Place place = Place::current());

/// Counts a chain's inputs and outputs, for engines and derivative rules.
struct ChainLayout {
  int states, xs, captured, ys;
  explicit ChainLayout(Op chain);
  int first_x() const { return states; }
  int first_captured() const { return states + xs; }
  int first_before() const { return states; }  // among the outputs
  int first_y() const { return 2 * states; }   // among the outputs
};

const OpDef& call_def();
const OpDef& chain_def();
const OpDef& loop_def();
const OpDef& cond_def();

std::vector<const OpDef*> control_flow_family();

}  // namespace antichain
