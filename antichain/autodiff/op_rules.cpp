// Which rule differentiates an op.
#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/walk.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

Var zeros_of(Var like) { return zeros(like.graph(), like.dtype(), like.shape()); }

VjpContext make_context(Op op, const std::vector<Var>& output_grads,
                        const std::vector<bool>& needed) {
  Graph& graph = op.graph();
  return {
      op, output_grads, needed, zeros_of,
      [&graph](std::span<const Var> outputs, std::span<const Var> grads,
               std::span<const Var> inputs) { return walk_back(graph, outputs, grads, inputs); }};
}

// The engine that the op names, or none when back-propagation is to do it.
const GradientEngine* engine_of(Op op, const std::vector<bool>& needed) {
  const EngineChoice choice = engine_choice(op);
  if (choice.is_backprop()) {
    return nullptr;
  }
  const std::string name = choice.name();
  require(
      op.graph().engines() != nullptr,
      "{} asks for engine '{}', but its graph has no engines; make the graph with session.graph()",
      op, name);
  const GradientEngine& engine = op.graph().engines()->find(name);
  engine.settings(choice);  // throws where it has no such options
  const Support support = engine.supports(op, needed);
  require<NotSupported>(support.yes, "engine '{}' cannot differentiate {}: {}", name, op,
                        support.reason);
  return &engine;
}

// Transposes the reverse rule: it is linear in the output gradients, and its own reverse rule with
// respect to them maps input tangents to output tangents.
std::vector<Var> transposed_vjp(Op op, const std::vector<Var>& tangents) {
  Graph& graph = op.graph();
  std::vector<Var> seeds, given;
  for (Var output : op.outputs()) {
    seeds.push_back(is_float(output.dtype()) ? linear_seed(graph, output.dtype(), output.shape())
                                             : Var());
  }
  std::vector<bool> needed;
  for (Var tangent : tangents) {
    needed.push_back(tangent.valid());
  }
  const std::vector<Var> grads = op_vjp(op, seeds, needed);
  std::vector<Var> found, directions;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].valid() && tangents[i].valid()) {
      found.push_back(graph.capture(grads[i]));
      directions.push_back(tangents[i]);
    }
  }
  for (Var seed : seeds) {
    if (seed.valid()) {
      given.push_back(seed);
    }
  }
  const std::vector<Var> moved =
      found.empty() ? std::vector<Var>(given.size()) : walk_back(graph, found, directions, given);
  std::vector<Var> result(seeds.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    result[i] = seeds[i].valid() ? moved[next++] : Var();
  }
  return result;
}

}  // namespace

std::vector<Var> op_vjp(Op op, const std::vector<Var>& output_grads,
                        const std::vector<bool>& needed) {
  Graph& graph = op.graph();
  const LocationGuard location(graph, op.location());
  const PlanPause pause(graph);
  VjpContext context = make_context(op, output_grads, needed);
  std::vector<Var> grads;
  if (const GradientEngine* engine = engine_of(op, needed)) {
    grads = engine->differentiate(context);
  } else if (op.def().vjp) {
    grads = op.def().vjp(context);
  } else {
    ensure(op.def().decompose != nullptr, "{} has neither a derivative nor a reason",
           op.def().name);
    const std::vector<Var> inputs = captured_here(graph, op.inputs());
    grads = walk_back(graph, captured_here(graph, op.def().decompose(op)), output_grads, inputs);
    // An input that is used twice is one value: its gradient counts once.
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        grads[i] = inputs[i] == inputs[j] ? Var() : grads[i];
      }
    }
  }
  ensure(static_cast<int>(grads.size()) == op.num_inputs(), "{} gives {} gradients for {} inputs",
         op, grads.size(), op.num_inputs());
  return grads;
}

std::vector<Var> op_jvp(Op op, const std::vector<Var>& tangents) {
  Graph& graph = op.graph();
  const LocationGuard location(graph, op.location());
  const PlanPause pause(graph);
  std::vector<Var> result;
  if (op.def().jvp) {
    JvpContext context(op, tangents, zeros_of,
                       [&graph](std::span<const Var> inputs, std::span<const Var> directions,
                                std::span<const Var> outputs) {
                         return walk_forward(graph, inputs, directions, outputs);
                       });
    result = op.def().jvp(context);
  } else if (op.def().vjp) {
    result = transposed_vjp(op, tangents);
  } else {
    result = walk_forward(graph, captured_here(graph, op.inputs()), tangents,
                          captured_here(graph, op.def().decompose(op)));
  }
  ensure(static_cast<int>(result.size()) == op.num_outputs(), "{} gives {} tangents for {} outputs",
         op, result.size(), op.num_outputs());
  return result;
}

}  // namespace antichain
