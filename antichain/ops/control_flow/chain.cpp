// chain: a body applied along an axis with carried states. Its derivatives are chains again, to any
// order.
#include "antichain/graph/clone.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/control_flow/chain_reverse.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/control_flow/control_flow_vmap.h"
#include "antichain/ops/control_flow/hoisted_lookups.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/chain_reference.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

Dims stacked(Dim length, const Dims& shape) {
  Dims result = {length};
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

Dims without_first(const Dims& shape) { return {shape.begin() + 1, shape.end()}; }

std::vector<VarType> infer_chain(InferContext& context) {
  Graph& graph = context.graph();
  const auto states = static_cast<std::size_t>(context.attrs().get<std::int64_t>("states"));
  const auto xs = static_cast<std::size_t>(context.attrs().get<std::int64_t>("xs"));
  const Dim length = context.attrs().get<Dim>("length");
  const auto slots = context.attrs().get<std::int64_t>("slots");
  const RegionInfo& body = graph.region(context.regions()[0]);
  const Vars params = graph.vars(body.params), results = graph.vars(body.results);
  require(results.size() >= states,
          "chain: the body must return a new value for each of the {} states, got {}", states,
          results.size());
  for (std::size_t i = 0; i < xs; ++i) {
    context.unify(context.shape(static_cast<int>(states + i))[0], length,
                  "lengths of the sequences");
  }
  std::vector<VarType> types;
  for (std::size_t i = 0; i < states; ++i) {
    const VarType &before = params[1 + i].type(), &after = results[i].type();
    require<TypeError>(before.dtype == after.dtype, "chain: state {} starts as {} and becomes {}",
                       i, name(before.dtype), name(after.dtype));
    context.unify(before.shape, after.shape, "shapes of a state before and after a step");
    types.push_back({before.dtype, before.shape});
  }
  for (std::size_t i = 0; i < states; ++i) {
    types.push_back({types[i].dtype, stacked(slots > 0 ? Dim(slots) : length, types[i].shape)});
  }
  for (std::size_t i = states; i < results.size(); ++i) {
    types.push_back({results[i].dtype(), stacked(length, results[i].shape())});
  }
  return types;
}

Vars chain_vjp(VjpContext& context) {
  const Op op = context.op();
  const ChainLayout layout(op);
  ensure(op.attrs().get<std::int64_t>("slots") == 0, "{} keeps too few states for a derivative",
         op.describe());
  StepsToReverse steps{.region = op.regions()[0],
                       .states = layout.states,
                       .length = op.attrs().get<Dim>("length"),
                       .reverse = op.attrs().get<bool>("reverse")};
  for (int i = 0; i < layout.states; ++i) {
    steps.before.push_back(op.output(layout.first_before() + i));
    steps.last_grads.push_back(context.grads()[static_cast<std::size_t>(i)]);
    steps.before_grads.push_back(
        context.grads()[static_cast<std::size_t>(layout.first_before() + i)]);
  }
  for (int i = 0; i < layout.xs; ++i) {
    steps.xs.push_back(op.input(layout.first_x() + i));
    steps.x_needed.push_back(context.needs(layout.first_x() + i));
  }
  for (int i = 0; i < layout.captured; ++i) {
    steps.captured.push_back(op.input(layout.first_captured() + i));
    steps.captured_needed.push_back(context.needs(layout.first_captured() + i));
  }
  for (int i = 0; i < layout.ys; ++i) {
    steps.y_grads.push_back(context.grads()[static_cast<std::size_t>(layout.first_y() + i)]);
  }
  return reverse_steps(context, steps);
}

// A chain that carries the tangents beside the states.
Vars chain_jvp(JvpContext& context) {
  const Op op = context.op();
  const ChainLayout layout(op);
  const auto moving = [&](int input) { return is_float(op.input(input).dtype()); };
  Vars states, xs;
  for (int i = 0; i < layout.states + layout.xs; ++i) {
    (i < layout.states ? states : xs).push_back(op.input(i));
  }
  for (int i = 0; i < layout.states + layout.xs; ++i) {
    if (moving(i)) {
      (i < layout.states ? states : xs).push_back(context.tangent(i));
    }
  }
  const int ys = layout.ys;
  std::vector<int> moving_ys;
  for (int i = 0; i < ys; ++i) {
    if (is_float(op.output(layout.first_y() + i).dtype())) {
      moving_ys.push_back(i);
    }
  }
  const auto body = [&](Var step, const Vars& s, const Vars& x) -> StepResult {
    Vars arguments = {step}, inputs, tangents;
    const auto split = [&](const Vars& values, int count, int first_input) {
      std::size_t next_tangent = static_cast<std::size_t>(count);
      for (int i = 0; i < count; ++i) {
        arguments.push_back(values[static_cast<std::size_t>(i)]);
        if (moving(first_input + i)) {
          inputs.push_back(values[static_cast<std::size_t>(i)]);
          tangents.push_back(values[next_tangent++]);
        }
      }
    };
    split(s, layout.states, 0);
    split(x, layout.xs, layout.first_x());
    for (int i = 0; i < layout.captured; ++i) {
      const int input = layout.first_captured() + i;
      arguments.push_back(op.input(input));
      if (context.has_tangent(input)) {
        inputs.push_back(op.graph().capture(op.input(input)));
        tangents.push_back(context.tangent(input));
      }
    }
    const Vars outputs = inline_region(op.graph(), op.regions()[0], arguments);
    const Vars moved = context.walk_forward(inputs, tangents, outputs);
    const auto tangent_of = [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      return moved[at].valid() ? moved[at] : context.zeros_like(outputs[at]);
    };
    StepResult result;
    result.states.assign(outputs.begin(), outputs.begin() + layout.states);
    for (int i = 0; i < layout.states; ++i) {
      if (moving(i)) {
        result.states.push_back(tangent_of(i));
      }
    }
    for (int i : moving_ys) {
      result.ys.push_back(tangent_of(layout.states + i));
    }
    return result;
  };
  const ChainResult found =
      chain(states, xs, body,
            {.reverse = op.attrs().get<bool>("reverse"), .length = op.attrs().get<Dim>("length")},
            op.location());
  Vars result(static_cast<std::size_t>(op.num_outputs()));
  std::size_t next = static_cast<std::size_t>(layout.states);
  for (int i = 0; i < layout.states; ++i) {
    if (moving(i)) {
      result[static_cast<std::size_t>(i)] = found.last[next];
      result[static_cast<std::size_t>(layout.first_before() + i)] = found.before[next++];
    }
  }
  for (std::size_t i = 0; i < moving_ys.size(); ++i) {
    result[static_cast<std::size_t>(layout.first_y() + moving_ys[i])] = found.ys[i];
  }
  return result;
}

std::vector<Sample> chain_samples() {
  const auto rnn = [](bool reverse) {
    return [reverse](Graph&, std::span<const Var> in) {
      const ChainResult result = chain({in[0]}, {in[1]},
                                       [&](Var, const Vars& h, const Vars& x) -> StepResult {
                                         const Var next = tanh(matmul(h[0], in[2]) + x[0]);
                                         return {{next}, {next * in[3], x[0]}};
                                       },
                                       {.reverse = reverse});
      return Vars{result.last[0], result.before[0], result.ys[0], result.ys[1]};
    };
  };
  const auto depth = [](Graph& graph, std::span<const Var> in) {
    const ChainResult result =
        chain({in[0], iota(graph, DType::i64, 2)}, {},
              [&](Var step, const Vars& s, const Vars&) -> StepResult {
                return {{s[0] + sin(s[0]) * cast(step, s[0].dtype()), s[1] + step}};
              },
              {.length = 4});
    return Vars{result.last[0], result.last[1], result.before[0]};
  };
  return {{"recurrent", {{{1, 2}}, {{3, 1, 2}}, {{2, 2}}, {{2}}}, rnn(false)},
          {"reverse", {{{1, 2}}, {{3, 1, 2}}, {{2, 2}}, {{2}}}, rnn(true)},
          {"one step", {{{1, 2}}, {{1, 1, 2}}, {{2, 2}}, {{2}}}, rnn(false)},
          {"no step", {{{1, 2}}, {{0, 1, 2}}, {{2, 2}}, {{2}}}, rnn(false)},
          {"no sequence", {{{3}}}, depth}};
}

}  // namespace

ChainLayout::ChainLayout(Op chain)
    : states(static_cast<int>(chain.attrs().get<std::int64_t>("states"))),
      xs(static_cast<int>(chain.attrs().get<std::int64_t>("xs"))),
      captured(chain.num_inputs() - states - xs),
      ys(chain.num_outputs() - 2 * states) {}

const OpDef& chain_def() {
  static const OpDef def{
      .name = "chain",
      .doc = "Applies a body along the first axis of sequences, carrying states.",
      .attributes =
          {{"states", "how many inputs are carried states"},
           {"xs", "how many inputs are sequences"},
           {"length", "how many steps"},
           {"reverse", "from the last position to the first", {false}},
           {"slots",
            "how many of the states before each step are kept, for replayed_chain; 0: all",
            {std::int64_t{0}}},
           {"engine", "who differentiates the region", {std::string()}}},
      .on_any_device = true,
      .infer = infer_chain,
      .vjp = chain_vjp,
      .jvp = chain_jvp,
      .vmap = vmap_chain,
      .vmap_serially = kBodyIsNotMapped,
      .reference = chain_reference,
      .workspace = chain_workspace,
      .samples = chain_samples,
  };
  return def;
}

ChainResult chain(const Vars& states, const Vars& xs,
                  const std::function<StepResult(Var, const Vars&, const Vars&)>& body,
                  const ChainOptions& options, Place place) {
  require(!states.empty() || !xs.empty(), "chain: needs a state or a sequence");
  Graph& graph = (states.empty() ? xs : states)[0].graph();
  Dim length = options.length;
  for (Var x : xs) {
    require<ShapeError>(x.rank() >= 1, "chain: {} has no axis to walk along", x);
    length = length == Dim(-1) ? x.dim(0) : length;
  }
  require(!(length == Dim(-1)), "chain: without sequences the length must be given");
  RegionScope scope(graph);
  const Var step = scope.step_param();
  Vars inner_states, inner_xs;
  for (Var state : states) {
    inner_states.push_back(scope.param({state.dtype(), state.shape()}));
  }
  for (Var x : xs) {
    inner_xs.push_back(scope.param({x.dtype(), without_first(x.shape())}));
  }
  StepResult results = body(step, inner_states, inner_xs);
  require(results.states.size() == states.size(), "chain: the body returns {} states, there are {}",
          results.states.size(), states.size());
  Vars all = results.states;
  all.insert(all.end(), results.ys.begin(), results.ys.end());
  const RegionId region = scope.finish(all);
  ChainParts parts{.body = region, .xs = xs, .captures = scope.captures()};
  parts = with_hoisted_lookups(graph, states, parts).value_or(parts);
  Vars inputs = states;
  inputs.insert(inputs.end(), parts.xs.begin(), parts.xs.end());
  inputs.insert(inputs.end(), parts.captures.begin(), parts.captures.end());
  const Vars outputs = graph
                           .add(chain_def(), inputs,
                                {{"states", static_cast<std::int64_t>(states.size())},
                                 {"xs", static_cast<std::int64_t>(parts.xs.size())},
                                 {"length", length},
                                 {"reverse", options.reverse},
                                 {"engine", graph.engine_for(options.engine)}},
                                {parts.body}, place)
                           .outputs();
  const auto count = static_cast<long>(states.size());
  return {.last = {outputs.begin(), outputs.begin() + count},
          .before = {outputs.begin() + count, outputs.begin() + 2 * count},
          .ys = {outputs.begin() + 2 * count, outputs.end()}};
}

Chain chain(Var state, Var xs, const std::function<Var(Var, Var)>& cell,
            const ChainOptions& options, Place place) {
  const ChainResult result = chain(
      {state}, {xs},
      [&](Var, const Vars& s, const Vars& x) -> StepResult {
        const Var next = cell(s[0], x[0]);
        return {{next}, {next}};
      },
      options, place);
  return {result.last[0], result.ys[0]};
}

}  // namespace antichain
