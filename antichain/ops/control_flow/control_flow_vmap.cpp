#include "antichain/ops/control_flow/control_flow_vmap.h"

#include <algorithm>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_region.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

bool can_map_regions(const VmapContext& context) {
  return std::ranges::all_of(context.op().regions(), [&](RegionId region) {
    return why_not_vmap(context.graph(), region).empty();
  });
}

// Inputs `first` to `last`, excluded, as arguments of a region.
std::vector<Mapped> arguments_of(const VmapContext& context, int first, int last) {
  std::vector<Mapped> arguments;
  for (int i = first; i < last; ++i) {
    arguments.push_back({context.value(i), context.is_mapped(i)});
  }
  return arguments;
}

// The results of a region for all copies, all with the mapped axis.
Vars mapped_body(const VmapContext& context, RegionId region,
                 const std::vector<Mapped>& arguments) {
  Graph& graph = context.graph();
  const std::vector<Mapped> found = vmap_region(graph, region, arguments, context.copies());
  const Vars inside = graph.vars(graph.region(region).results);
  Vars results;
  for (std::size_t i = 0; i < found.size(); ++i) {
    results.push_back(with_mapped_axis(found[i], inside[i].shape(), context.copies()));
  }
  return results;
}

}  // namespace

std::optional<Vars> vmap_call(VmapContext& context) {
  if (!can_map_regions(context)) {
    return std::nullopt;
  }
  const Op op = context.op();
  const std::vector<Mapped> arguments = arguments_of(context, 0, op.num_inputs());
  RegionScope scope(context.graph());
  const RegionId body = scope.finish(mapped_body(context, op.regions()[0], arguments));
  return context.graph()
      .add(op.def(), scope.captures(), op.attrs(), {body}, op.location())
      .outputs();
}

std::optional<Vars> vmap_chain(VmapContext& context) {
  if (!can_map_regions(context)) {
    return std::nullopt;
  }
  const Op op = context.op();
  Graph& graph = context.graph();
  const Attrs& attrs = context.attrs();
  const RegionId region = op.regions()[0];
  const ChainLayout layout(op);
  ensure(attrs.get<std::int64_t>("slots") == 0, "{} keeps too few states to be mapped", op);

  // By parameter of the body; a state that starts the same in all copies may not stay so.
  std::vector<bool> mapped = {false};
  for (int i = 0; i < op.num_inputs(); ++i) {
    mapped.push_back(context.is_mapped(i));
  }
  std::vector<bool> results;
  for (bool is_stable = false; !is_stable;) {
    results = mapped_results(graph, region, mapped);
    is_stable = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(layout.states); ++i) {
      is_stable = is_stable && (mapped[1 + i] || !results[i]);
      mapped[1 + i] = mapped[1 + i] || results[i];
    }
  }
  Vars states, xs;
  for (int i = 0; i < layout.first_captured(); ++i) {
    const bool is_state = i < layout.states;
    if (!mapped[static_cast<std::size_t>(1 + i)]) {
      (is_state ? states : xs).push_back(context.value(i));
    } else if (is_state) {
      states.push_back(context.repeated(i));
    } else {
      xs.push_back(move_axis(context.value(i), 0, 1));
    }
  }
  Vars inputs = states;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  RegionScope scope(graph);
  std::vector<Mapped> arguments = {{scope.step_param(), false}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Dims& shape = inputs[i].shape();
    const Dims one_step = i < states.size() ? shape : Dims(shape.begin() + 1, shape.end());
    arguments.push_back({scope.param({inputs[i].dtype(), one_step}), mapped[1 + i]});
  }
  for (const Mapped& captured : arguments_of(context, layout.first_captured(), op.num_inputs())) {
    arguments.push_back(captured);
  }
  const Vars inside = graph.vars(graph.region(region).results);
  const std::vector<Mapped> found = vmap_region(graph, region, arguments, context.copies());
  Vars after;
  for (std::size_t i = 0; i < found.size(); ++i) {
    results[i] = i < states.size() ? mapped[1 + i] : results[i];
    after.push_back(results[i] ? with_mapped_axis(found[i], inside[i].shape(), context.copies())
                               : found[i].value);
  }
  const RegionId body = scope.finish(after);
  for (Var capture : scope.captures()) {
    inputs.push_back(capture);
  }
  Vars outputs = graph.add(op.def(), inputs, attrs, {body}, op.location()).outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // Last states, stacked states, and what is returned beside them.
    const std::size_t result = i < states.size() ? i : i - states.size();
    if (i >= states.size() || !results[result]) {
      outputs[i] = results[result] ? move_axis(outputs[i], 1, 0)
                                   : repeat_for_copies(outputs[i], context.copies());
    }
  }
  return outputs;
}

std::optional<Vars> vmap_cond(VmapContext& context) {
  if (!can_map_regions(context)) {
    return std::nullopt;
  }
  const Op op = context.op();
  const int second = 1 + static_cast<int>(op.attrs().get<std::int64_t>("then_inputs"));
  const std::vector<Mapped> yes = arguments_of(context, 1, second),
                            no = arguments_of(context, second, op.num_inputs());
  if (context.is_mapped(0)) {
    Vars outputs = mapped_body(context, op.regions()[0], yes);
    const Vars others = mapped_body(context, op.regions()[1], no);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = select(aligned_input(context, 0, outputs[i].rank() - 1), outputs[i], others[i]);
    }
    return outputs;
  }
  Vars inputs = {context.value(0)};
  std::vector<RegionId> bodies;
  Attrs attrs = context.attrs();
  for (const std::vector<Mapped>* arguments : {&yes, &no}) {
    RegionScope scope(context.graph());
    bodies.push_back(scope.finish(mapped_body(context, op.regions()[bodies.size()], *arguments)));
    for (Var capture : scope.captures()) {
      inputs.push_back(capture);
    }
    if (arguments == &yes) {
      attrs.set("then_inputs", static_cast<std::int64_t>(inputs.size()) - 1);
    }
  }
  return context.graph().add(op.def(), inputs, attrs, bodies, op.location()).outputs();
}

std::optional<Vars> vmap_custom_gradient(VmapContext& context) {
  if (!can_map_regions(context)) {
    return std::nullopt;
  }
  const Op op = context.op();
  const int declared = static_cast<int>(op.attrs().get<std::int64_t>("inputs"));
  const int behind_forward =
      declared + static_cast<int>(op.attrs().get<std::int64_t>("forward_captures"));
  Vars inputs;
  for (int i = 0; i < declared; ++i) {
    inputs.push_back(context.repeated(i));
  }
  const std::vector<Mapped> forward_captures = arguments_of(context, declared, behind_forward),
                            back_captures = arguments_of(context, behind_forward, op.num_inputs());
  const auto body = [&](int region, const std::vector<const Vars*>& values,
                        const std::vector<Mapped>& captures) {
    std::vector<Mapped> arguments;
    for (const Vars* some : values) {
      for (Var value : *some) {
        arguments.push_back({value, true});
      }
    }
    arguments.insert(arguments.end(), captures.begin(), captures.end());
    return mapped_body(context, op.regions()[static_cast<std::size_t>(region)], arguments);
  };
  return custom_gradient(
      inputs, [&](const Vars& x) { return body(0, {&x}, forward_captures); },
      [&](const Vars& x, const Vars& grads) {
        return body(1, {&x, &grads}, back_captures);
      },
      op.location());
}

}  // namespace antichain
