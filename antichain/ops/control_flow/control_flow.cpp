// call and cond, and what all region ops share; chain and loop have files of their own.
#include "antichain/ops/control_flow/control_flow.h"

#include "antichain/graph/clone.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/control_flow/control_flow_vmap.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/control_flow/replayed_chain.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain {

namespace {

std::vector<VarType> result_types(InferContext& context, RegionId region) {
  std::vector<VarType> types;
  for (Var result : context.graph().vars(context.graph().region(region).results)) {
    types.push_back({result.dtype(), result.shape()});
  }
  return types;
}

std::vector<Var> slice_of(const std::vector<Var>& vars, int first, int count) {
  return {vars.begin() + first, vars.begin() + first + count};
}

// The gradients of a region's parameters, computed where the rule stands: the body is built again,
// so that its values are recomputed rather than kept.
Vars region_vjp(const VjpContext& context, RegionId region, const Vars& arguments,
                const std::vector<bool>& needed, const Vars& output_grads) {
  const Vars outputs = inline_region(context.graph(), region, arguments);
  Vars wanted;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (needed[i]) {
      wanted.push_back(context.graph().capture(arguments[i]));
    }
  }
  const Vars found = context.walk_back(outputs, output_grads, wanted);
  Vars grads(arguments.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    grads[i] = needed[i] ? found[next++] : Var();
  }
  return grads;
}

std::vector<bool> needed_inputs(const VjpContext& context, int first, int count) {
  std::vector<bool> needed;
  for (int i = first; i < first + count; ++i) {
    needed.push_back(context.needs(i));
  }
  return needed;
}

Vars call_vjp(VjpContext& context) {
  const Vars inputs = context.op().inputs();
  return region_vjp(context, context.op().regions()[0], inputs,
                    needed_inputs(context, 0, context.num_inputs()), context.grads());
}

Vars call_jvp(JvpContext& context) {
  const Vars outputs =
      inline_region(context.graph(), context.op().regions()[0], context.op().inputs());
  return context.walk_forward(captured_here(context.graph(), context.op().inputs()),
                              context.tangents(), outputs);
}

std::vector<VarType> infer_cond(InferContext& context) {
  require(context.num_inputs() >= 1, "cond: takes a predicate");
  context.require_dtype(0, {DType::boolean});
  context.require_rank(0, 0);
  std::vector<VarType> yes = result_types(context, context.regions()[0]);
  const std::vector<VarType> no = result_types(context, context.regions()[1]);
  require(yes.size() == no.size(), "cond: the two bodies return {} and {} values", yes.size(),
          no.size());
  for (std::size_t i = 0; i < yes.size(); ++i) {
    require<TypeError>(yes[i].dtype == no[i].dtype,
                       "cond: the two bodies return {} and {} as value {}", name(yes[i].dtype),
                       name(no[i].dtype), i);
    context.unify(yes[i].shape, no[i].shape, "shapes of what the two bodies return");
  }
  return yes;
}

struct CondInputs {
  Vars yes, no;
  explicit CondInputs(Op op) {
    const int count = static_cast<int>(op.attrs().get<std::int64_t>("then_inputs"));
    yes = slice_of(op.inputs(), 1, count);
    no = slice_of(op.inputs(), 1 + count, op.num_inputs() - 1 - count);
  }
};

// Gradients of both branches' inputs, zero for the branch that did not run.
Vars cond_vjp(VjpContext& context) {
  const Op op = context.op();
  const CondInputs inputs(op);
  const auto branch = [&](bool yes) {
    return [&context, &inputs, op, yes] {
      const int first = 1 + (yes ? 0 : static_cast<int>(inputs.yes.size()));
      const Vars& mine = yes ? inputs.yes : inputs.no;
      const Vars grads =
          region_vjp(context, op.regions()[yes ? 0 : 1], mine,
                     needed_inputs(context, first, static_cast<int>(mine.size())), context.grads());
      Vars results;
      for (int i = 1; i < op.num_inputs(); ++i) {
        const int own = i - first;
        if (context.needs(i)) {
          const bool has = own >= 0 && own < static_cast<int>(mine.size()) &&
                           grads[static_cast<std::size_t>(own)].valid();
          results.push_back(has ? grads[static_cast<std::size_t>(own)]
                                : context.zeros_like(op.input(i)));
        }
      }
      return results;
    };
  };
  const Vars found = cond(op.input(0), branch(true), branch(false), {}, op.location());
  Vars grads(static_cast<std::size_t>(op.num_inputs()));
  std::size_t next = 0;
  for (int i = 1; i < op.num_inputs(); ++i) {
    grads[static_cast<std::size_t>(i)] = context.needs(i) ? found[next++] : Var();
  }
  return grads;
}

Vars cond_jvp(JvpContext& context) {
  const Op op = context.op();
  const CondInputs inputs(op);
  std::vector<int> moving;  // outputs that can have a tangent
  for (int i = 0; i < op.num_outputs(); ++i) {
    if (is_float(op.output(i).dtype())) {
      moving.push_back(i);
    }
  }
  const auto branch = [&](bool yes) {
    return [&context, &inputs, &moving, op, yes] {
      const Vars& mine = yes ? inputs.yes : inputs.no;
      const int first = 1 + (yes ? 0 : static_cast<int>(inputs.yes.size()));
      const Vars outputs = inline_region(op.graph(), op.regions()[yes ? 0 : 1], mine);
      const Vars tangents = context.walk_forward(
          captured_here(op.graph(), mine),
          slice_of(context.tangents(), first, static_cast<int>(mine.size())), outputs);
      Vars results;
      for (int i : moving) {
        const Var tangent = tangents[static_cast<std::size_t>(i)];
        results.push_back(tangent.valid() ? tangent : context.zeros_like(op.output(i)));
      }
      return results;
    };
  };
  const Vars found = cond(op.input(0), branch(true), branch(false), {}, op.location());
  Vars tangents(static_cast<std::size_t>(op.num_outputs()));
  for (std::size_t i = 0; i < moving.size(); ++i) {
    tangents[static_cast<std::size_t>(moving[i])] = found[i];
  }
  return tangents;
}

std::vector<Sample> call_samples() {
  return {{"captures", {{{2, 3}}, {{3}}}, [](Graph& graph, std::span<const Var> in) {
             return call(graph, [&] { return Vars{tanh(in[0] * in[1]), in[1]}; });
           }}};
}

std::vector<Sample> cond_samples() {
  const auto build = [](Graph&, std::span<const Var> in) {
    return cond(
        in[0], [&] { return Vars{sin(in[1]) * in[2]}; }, [&] { return Vars{square(in[1])}; });
  };
  return {{"then", {{{}, 0, 0, boolean, {1}}, {{3}}, {{3}}}, build},
          {"else", {{{}, 0, 0, boolean, {0}}, {{3}}, {{3}}}, build}};
}

}  // namespace

Vars captured_here(Graph& graph, const Vars& vars) {
  Vars result;
  for (Var var : vars) {
    result.push_back(graph.capture(var));
  }
  return result;
}

namespace {

struct WantedResults {
  std::vector<Tensor*> pointers;
};

}  // namespace

void run_whole_region(KernelContext& context, int region,
                      std::span<const Tensor* const> arguments) {
  std::vector<Tensor*>& results = context.kept<WantedResults>().pointers;
  results.assign(context.outputs.begin(), context.outputs.end());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = context.wanted[i] ? results[i] : nullptr;
  }
  context.run_region(region, arguments, results);
}

const OpDef& call_def() {
  static const OpDef def{
      .name = "call",
      .doc = "Runs a body once, as a region that an engine can be named for.",
      .attributes = {{"engine", "who differentiates the region", {std::string()}}},
      .on_any_device = true,
      .infer = [](InferContext& context) { return result_types(context, context.regions()[0]); },
      .vjp = call_vjp,
      .jvp = call_jvp,
      .vmap = vmap_call,
      .vmap_serially = kBodyIsNotMapped,
      .decompose = [](Op op) { return inline_region(op.graph(), op.regions()[0], op.inputs()); },
      .reference = [](KernelContext& context) { run_whole_region(context, 0, context.inputs); },
      .samples = call_samples,
  };
  return def;
}

const OpDef& cond_def() {
  static const OpDef def{
      .name = "cond",
      .doc = "Runs one of two bodies.",
      .attributes = {{"then_inputs", "how many captured values belong to the first body"},
                     {"engine", "who differentiates the region", {std::string()}}},
      .on_any_device = true,
      .reads_values = true,
      .infer = infer_cond,
      .vjp = cond_vjp,
      .jvp = cond_jvp,
      .vmap = vmap_cond,
      .vmap_serially = kBodyIsNotMapped,
      .reference =
          [](KernelContext& context) {
            const auto count = static_cast<std::size_t>(context.attr<std::int64_t>("then_inputs"));
            const bool yes = context.device->to_host(context.in(0)).item<bool>();
            run_whole_region(
                context, yes ? 0 : 1,
                yes ? context.inputs.subspan(1, count) : context.inputs.subspan(1 + count));
          },
      .samples = cond_samples,
  };
  return def;
}

Vars call(Graph& graph, const std::function<Vars()>& body, const RegionOptions& options,
          Place place) {
  RegionScope scope(graph);
  const RegionId region = scope.finish(body());
  return graph
      .add(call_def(), scope.captures(), {{"engine", graph.engine_for(options.engine)}}, {region},
           place)
      .outputs();
}

Vars cond(Var predicate, const std::function<Vars()>& then, const std::function<Vars()>& otherwise,
          const RegionOptions& options, Place place) {
  Graph& graph = predicate.graph();
  Vars inputs = {predicate};
  std::vector<RegionId> regions;
  std::int64_t then_inputs = 0;
  for (const auto* body : {&then, &otherwise}) {
    RegionScope scope(graph);
    regions.push_back(scope.finish((*body)()));
    const Vars captures = scope.captures();
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    then_inputs = body == &then ? static_cast<std::int64_t>(captures.size()) : then_inputs;
  }
  return graph
      .add(cond_def(), inputs,
           {{"then_inputs", then_inputs}, {"engine", graph.engine_for(options.engine)}}, regions,
           place)
      .outputs();
}

std::vector<const OpDef*> control_flow_family() {
  return {&call_def(), &chain_def(), &replayed_chain_def(), &loop_def(), &cond_def()};
}

}  // namespace antichain
