#include "antichain/ops/control_flow/replayed_chain.h"

#include "antichain/graph/infer_context.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/replay_reference.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain {

namespace {

std::vector<VarType> infer_replayed_chain(InferContext& context) {
  Graph& graph = context.graph();
  const ReplayLayout layout(context.attrs());
  const Dim length = context.attrs().get<Dim>("length");
  const Vars back = graph.vars(graph.region(context.regions()[1]).results);
  require(context.attrs().get<std::int64_t>("slots") >= 1, "{}: needs a slot", context.op_name());
  std::vector<VarType> types;
  for (int i = 0; i < layout.carried; ++i) {
    const VarType& before = context.type(layout.first_carried() + i);
    const VarType& after = back.at(static_cast<std::size_t>(i)).type();
    require<TypeError>(before.dtype == after.dtype,
                       "{}: carried value {} starts as {} and becomes {}", context.op_name(), i,
                       name(before.dtype), name(after.dtype));
    context.unify(before.shape, after.shape, "shapes of a carried value before and after a step");
    types.push_back({before.dtype, before.shape});
  }
  for (auto y = static_cast<std::size_t>(layout.carried); y < back.size(); ++y) {
    Dims stacked = back[y].shape();
    stacked.insert(stacked.begin(), length);
    types.push_back({back[y].dtype(), std::move(stacked)});
  }
  for (int i = 0; i < layout.states; ++i) {
    types.push_back({context.dtype(i), context.shape(i)});
  }
  return types;
}

// The rows are filled again, the carried values go on.
std::vector<WorkedOn> worked_on(Op op) {
  const ReplayLayout layout(op.attrs());
  std::vector<WorkedOn> pairs;
  for (int i = 0; i < layout.carried; ++i) {
    pairs.push_back({layout.first_carried() + i, i});
  }
  for (int i = 0; i < layout.states; ++i) {
    pairs.push_back({i, layout.first_row(op.num_outputs()) + i});
  }
  return pairs;
}

// h <- tanh(h * w + x), and the gradients of h, w and x from that of the last h.
std::vector<Sample> replay_samples() {
  const auto recurrent = [](std::int64_t slots, bool reverse) {
    return [=](Graph& graph, std::span<const Var> in) -> Vars {
      const Var h = in[0], xs = in[1], w = in[2];
      const auto cell = [](Var state, Var x, Var weight) { return tanh(state * weight + x); };
      ReplayedChain parts{.initial = {h},
                          .xs = {xs},
                          .captured = {w},
                          .carried = {in[3], w * 0.0},
                          .back_captured = {w},
                          .length = xs.dim(0),
                          .slots = slots,
                          .reverse = reverse};
      const VarType state{h.dtype(), h.shape()}, weight{w.dtype(), w.shape()};
      {
        RegionScope scope(graph);
        scope.step_param();
        const Var s = scope.param(state), x = scope.param(state), v = scope.param(weight);
        parts.forward = scope.finish({cell(s, x, v)});
      }
      {
        RegionScope scope(graph);
        scope.step_param();
        const Var g = scope.param(state), sum = scope.param(weight), s = scope.param(state);
        const Var x = scope.param(state), v = scope.param(weight);
        const Var d = g * (1.0 - square(cell(s, x, v)));
        parts.back = scope.finish({d * v, sum + d * s, d});
      }
      parts.sequences = {xs};
      const Op chain = graph.add(chain_def(), {h, xs, w},
                                 {{"states", std::int64_t{1}},
                                  {"xs", std::int64_t{1}},
                                  {"length", parts.length},
                                  {"reverse", reverse},
                                  {"slots", slots}},
                                 {parts.forward});
      parts.rows = {chain.output(1)};
      const Op back = replayed_chain(graph, parts);
      return {back.output(0), back.output(1), back.output(2), chain.output(0)};
    };
  };
  const auto inputs = [](std::int64_t length) -> std::vector<SampleInput> {
    return {{{2}}, {{length, 2}}, {{2}}, {{2}}};
  };
  return {{"one slot", inputs(5), recurrent(1, false)},
          {"two slots", inputs(6), recurrent(2, false)},
          {"slots for all", inputs(4), recurrent(7, false)},
          {"reverse", inputs(7), recurrent(3, true)},
          {"one step", inputs(1), recurrent(2, false)},
          {"no step", inputs(0), recurrent(2, false)}};
}

}  // namespace

ReplayLayout::ReplayLayout(const Attrs& attrs)
    : states(static_cast<int>(attrs.get<std::int64_t>("states"))),
      xs(static_cast<int>(attrs.get<std::int64_t>("xs"))),
      captured(static_cast<int>(attrs.get<std::int64_t>("captured"))),
      carried(static_cast<int>(attrs.get<std::int64_t>("carried"))),
      sequences(static_cast<int>(attrs.get<std::int64_t>("sequences"))) {}

const OpDef& replayed_chain_def() {
  static const OpDef def{
      .name = "replayed_chain",
      .doc = "Walks back along a chain that kept few of its states, computing the others anew.",
      .attributes =
          {{"states", "how many states the chain carries"},
           {"xs", "how many sequences the chain walks along"},
           {"captured", "how many other values its body takes"},
           {"carried", "how many values the way back carries"},
           {"sequences", "how many sequences the way back walks along, beside the states"},
           {"length", "how many steps"},
           {"slots", "how many rows of states the chain has kept"},
           {"reverse", "whether the chain goes from the last position to the first", {false}}},
      .on_any_device = true,
      .infer = infer_replayed_chain,
      .no_gradient = "it is made when a graph is compiled, after all derivatives",
      .no_vmap = "it is made when a graph is compiled, after vmap",
      .reference = replay_reference,
      .workspace = replay_workspace,
      .works_on = worked_on,
      .samples = replay_samples,
  };
  return def;
}

Op replayed_chain(Graph& graph, const ReplayedChain& parts, Place place) {
  Vars inputs;
  for (const Vars* some : {&parts.rows, &parts.initial, &parts.xs, &parts.captured, &parts.carried,
                           &parts.sequences, &parts.back_captured}) {
    inputs.insert(inputs.end(), some->begin(), some->end());
  }
  const auto count = [](const Vars& vars) { return static_cast<std::int64_t>(vars.size()); };
  return graph.add(replayed_chain_def(), inputs,
                   {{"states", count(parts.rows)},
                    {"xs", count(parts.xs)},
                    {"captured", count(parts.captured)},
                    {"carried", count(parts.carried)},
                    {"sequences", count(parts.sequences)},
                    {"length", parts.length},
                    {"slots", parts.slots},
                    {"reverse", parts.reverse}},
                   {parts.forward, parts.back}, place);
}

}  // namespace antichain
