#include "antichain/ops/elementwise/gradient_ops.h"

#include "antichain/graph/clone.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/control_flow/control_flow_vmap.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_custom(InferContext& context) {
  Graph& graph = context.graph();
  const RegionInfo &forward = graph.region(context.regions()[0]),
                   &backward = graph.region(context.regions()[1]);
  const Vars outputs = graph.vars(forward.results), grads = graph.vars(backward.results);
  const auto inputs = static_cast<std::size_t>(context.attrs().get<std::int64_t>("inputs"));
  require(grads.size() == inputs,
          "custom_gradient: the backward function returns {} gradients for {} inputs", grads.size(),
          inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    require<TypeError>(grads[i].dtype() == context.dtype(static_cast<int>(i)),
                       "custom_gradient: gradient {} is {}, its input {}", i,
                       name(grads[i].dtype()), name(context.dtype(static_cast<int>(i))));
    context.unify(context.shape(static_cast<int>(i)), grads[i].shape(),
                  "shapes of an input and its gradient");
  }
  std::vector<VarType> types;
  for (Var output : outputs) {
    types.push_back({output.dtype(), output.shape()});
  }
  return types;
}

// Inputs: the declared ones, then what forward captured, then what backward captured.
struct CustomInputs {
  std::size_t declared, forward;
  explicit CustomInputs(const Attrs& attrs)
      : declared(static_cast<std::size_t>(attrs.get<std::int64_t>("inputs"))),
        forward(static_cast<std::size_t>(attrs.get<std::int64_t>("forward_captures"))) {}
};

Vars custom_vjp(VjpContext& context) {
  const Op op = context.op();
  const CustomInputs counts(op.attrs());
  const Vars inputs = op.inputs();
  Vars arguments(inputs.begin(), inputs.begin() + static_cast<long>(counts.declared));
  for (int i = 0; i < op.num_outputs(); ++i) {
    arguments.push_back(context.grad(i));
  }
  arguments.insert(arguments.end(),
                   inputs.begin() + static_cast<long>(counts.declared + counts.forward),
                   inputs.end());
  Vars grads = inline_region(op.graph(), op.regions()[1], arguments);
  grads.resize(inputs.size());
  return grads;
}

std::vector<Sample> custom_samples() {
  // The gradient is the true one, so that finite differences agree; tests cover gradients that lie.
  return {{"true gradient", {{{3}}, {{3}}}, [](Graph&, std::span<const Var> in) {
             return custom_gradient(
                 {in[0], in[1]}, [](const Vars& x) { return Vars{sin(x[0]) * x[1]}; },
                 [](const Vars& x, const Vars& g) {
                   return Vars{g[0] * cos(x[0]) * x[1], g[0] * sin(x[0])};
                 });
           }}};
}

// Derivatives are built before anything is compiled.
Rewrite stop_to_same() {
  return {"stop_gradient(x) -> x",
          [](Op op) { return std::optional(Vars{op.input(0)}); },
          {"vector", {{{3}}}, [](Graph&, std::span<const Var> in) {
             return Vars{stop_gradient(in[0])};
           }}};
}

}  // namespace

const OpDef& stop_gradient_def() {
  static const OpDef def{
      .name = "stop_gradient",
      .doc = "Returns x; no gradient flows through.",
      .dtypes = kAnyDType,
      .on_any_device = true,
      .infer =
          [](InferContext& context) {
            context.require_inputs(1);
            return std::vector<VarType>{context.type(0)};
          },
      .no_gradient = "it is there to stop the gradient",
      .vmap = vmap_unchanged(),
      .rewrites = {stop_to_same()},
      .reference =
          [](KernelContext& context) { context.device->copy(context.out(), context.in(0)); },
      .view = [](const KernelContext& context) { return context.in(0); },
      .samples =
          [] {
            return std::vector<Sample>{{"matrix", {{{2, 3}}}, [](Graph&, std::span<const Var> in) {
                                          return Vars{stop_gradient(in[0])};
                                        }}};
          },
  };
  return def;
}

const OpDef& custom_gradient_def() {
  static const OpDef def{
      .name = "custom_gradient",
      .doc = "A function with a gradient of the user's own.",
      .attributes = {{"inputs", "how many inputs the functions take"},
                     {"forward_captures", "how many values the forward function captured"}},
      .on_any_device = true,
      .infer = infer_custom,
      .vjp = custom_vjp,
      .vmap = vmap_custom_gradient,
      .vmap_serially = kBodyIsNotMapped,
      .reference =
          [](KernelContext& context) {
            const CustomInputs counts(*context.attrs);
            run_whole_region(context, 0,
                             context.inputs.subspan(0, counts.declared + counts.forward));
          },
      .samples = custom_samples,
  };
  return def;
}

Var stop_gradient(const Operand& x) { return apply(stop_gradient_def(), {x}); }

Vars custom_gradient(const Vars& inputs, const std::function<Vars(const Vars&)>& forward,
                     const std::function<Vars(const Vars&, const Vars&)>& backward, Place place) {
  require(!inputs.empty(), "custom_gradient: needs at least one input");
  Graph& graph = inputs[0].graph();
  const auto declare = [&](RegionScope& scope, const Vars& like) {
    Vars params;
    for (Var var : like) {
      params.push_back(scope.param(var.type()));
    }
    return params;
  };
  Vars all = inputs;
  RegionScope forward_scope(graph);
  const RegionId forward_region = forward_scope.finish(forward(declare(forward_scope, inputs)));
  const Vars forward_captures = forward_scope.captures();
  all.insert(all.end(), forward_captures.begin(), forward_captures.end());

  RegionScope backward_scope(graph);
  const Vars params = declare(backward_scope, inputs);
  const Vars grads = declare(backward_scope, graph.vars(graph.region(forward_region).results));
  const RegionId backward_region = backward_scope.finish(backward(params, grads));
  const Vars backward_captures = backward_scope.captures();
  all.insert(all.end(), backward_captures.begin(), backward_captures.end());
  return graph
      .add(custom_gradient_def(), all,
           {{"inputs", static_cast<std::int64_t>(inputs.size())},
            {"forward_captures", static_cast<std::int64_t>(forward_captures.size())}},
           {forward_region, backward_region}, place)
      .outputs();
}

Var gradient_hook(const Operand& x, const std::function<Var(Var)>& hook) {
  return custom_gradient(
      {x.var()}, [](const Vars& in) { return in; },
      [&hook](const Vars&, const Vars& grads) { return Vars{hook(grads[0])}; }, x.location())[0];
}

std::vector<const OpDef*> gradient_family() {
  return {&stop_gradient_def(), &custom_gradient_def()};
}

}  // namespace antichain
