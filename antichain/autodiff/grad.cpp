#include "antichain/autodiff/grad.h"

#include <algorithm>

#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/outline.h"
#include "antichain/autodiff/walk.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

Graph& common_graph(const std::vector<Var>& ys, const std::vector<Var>& xs) {
  require(!ys.empty() && !xs.empty(),
          "a derivative needs something to differentiate and a variable");
  for (const auto* vars : {&ys, &xs}) {
    for (Var var : *vars) {
      require(var.valid() && &var.graph() == &ys[0].graph(),
              "a derivative needs values of one graph");
      require<TypeError>(is_float(var.dtype()),
                         "{} is {}; only floating-point values have derivatives", var.name(),
                         name(var.dtype()));
    }
  }
  return ys[0].graph();
}

// Given gradients or tangents, in the shape of what they belong to; sizes that only the run knows
// are compared there.
std::vector<Var> fitted(const std::vector<Var>& given, const std::vector<Var>& values,
                        const char* what) {
  require(given.size() == values.size(), "{} values and {} {}s", values.size(), given.size(), what);
  std::vector<Var> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Var value = values[i];
    bool fits =
        given[i].valid() && given[i].dtype() == value.dtype() && given[i].rank() == value.rank();
    for (int axis = 0; fits && axis < value.rank(); ++axis) {
      fits = !never_equal(given[i].dim(axis), value.dim(axis));
    }
    require<ShapeError>(fits, "the {} of {} must be {}{}", what, value.name(), name(value.dtype()),
                        to_string(value.shape()));
    result.push_back(reshape(given[i], value.shape()));
  }
  return result;
}

// A unit vector with a 1 at `position`, in a shape.
Var unit(DType dtype, const Dims& shape, Var position) {
  return reshape(one_hot(position, numel(shape), dtype), shape);
}

std::vector<Var> without_repeats(const std::vector<Var>& values) {
  std::vector<Var> different;
  for (Var value : values) {
    if (std::find(different.begin(), different.end(), value) == different.end()) {
      different.push_back(value);
    }
  }
  return different;
}

// The loss that the user holds is computed as it was built; an engine with a forward run of its own
// would differentiate another one.
void require_forward_as_built(const Graph& graph, const EngineChoice& choice) {
  require(graph.engines() != nullptr,
          "a gradient by engine '{}' needs a graph that has engines; make it with session.graph()",
          choice.name());
  const GradientEngine& engine = graph.engines()->find(choice.name());
  require<NotSupported>(
      !engine.replaces_forward(engine.settings(choice)),
      "engine '{}' runs a region forward in its own way, so it is named where the "
      "region is built, and not in a gradient of what was computed otherwise",
      choice.str());
}

// Gradients of sum(ys · seeds); none where there is no dependence.
std::vector<Var> gradients_by(const EngineChoice& engine, const std::vector<Var>& ys,
                              const std::vector<Var>& seeds, const std::vector<Var>& xs) {
  Graph& graph = ys[0].graph();
  if (engine.is_backprop()) {
    const bool has_parts = engine.is_open() && !graph.engine_plan().parts().empty();
    return walk_back(graph, has_parts ? outline_parts(ys, xs) : ys, seeds, xs, Reach::graph);
  }
  require_forward_as_built(graph, engine);
  const std::vector<Var> different = without_repeats(xs);  // each enters the region once
  const Op region = outline(ys, different, engine);
  std::vector<bool> needed(static_cast<std::size_t>(region.num_inputs()));
  std::fill_n(needed.begin(), different.size(), true);
  std::vector<Var> partials = op_vjp(region, seeds, needed);
  partials.resize(different.size());
  // Where the xs depend on each other, the way between them belongs to the total derivatives.
  return walk_back(graph, different, partials, xs, Reach::graph);
}

// The engine differentiates xs -> at; who the graph's plan names, or else back-propagation,
// at -> ys and what goes past the cut.
std::vector<Var> gradients_through(const GradOptions& options, const std::vector<Var>& ys,
                                   const std::vector<Var>& seeds, const std::vector<Var>& xs) {
  Graph& graph = common_graph(ys, options.at);
  for (const std::vector<Var>* values : {&options.at, &xs}) {
    for (Var value : *values) {
      require(graph.region_of(value) == graph.region_of(ys[0]),
              "a gradient is cut at values of the region that {} is in, and {} is in another one",
              ys[0].name(), value.name());
    }
  }
  const std::vector<Var> cut = without_repeats(options.at);
  std::vector<Var> inputs = cut;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  const std::vector<Var> through =
      graph.engine_plan().parts().empty() ? ys : outline_parts(ys, inputs, PartsOf::behind_cut);
  std::vector<Var> partials = walk_back(graph, through, seeds, inputs, Reach::inputs);
  std::vector<Var> reached, cut_grads;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    require(partials[i].valid(), "{} does not depend on {}, where its gradient is to be cut",
            ys[0].name(), cut[i].name());
    reached.push_back(cut[i]);
    cut_grads.push_back(partials[i]);
  }
  std::vector<Var> grads = gradients_by(options.engine, reached, cut_grads, xs);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const Var past = partials[cut.size() + i];
    const bool is_cut = std::ranges::count(cut, xs[i]) > 0;  // then it is both, and counted once
    if (past.valid() && !is_cut) {
      grads[i] = grads[i].valid() ? grads[i] + past : past;
    }
  }
  return grads;
}

Dims joined(const Dims& a, const Dims& b) {
  Dims result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

}  // namespace

std::vector<Var> vjp(const std::vector<Var>& ys, const std::vector<Var>& output_grads,
                     const std::vector<Var>& xs, const GradOptions& options) {
  Graph& graph = common_graph(ys, xs);
  const PlanPause pause(graph);
  const std::vector<Var> seeds = fitted(output_grads, ys, "gradient");
  std::vector<Var> grads = options.at.empty() ? gradients_by(options.engine, ys, seeds, xs)
                                              : gradients_through(options, ys, seeds, xs);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!grads[i].valid()) {
      require(options.zero_if_unused, "{} has no gradient with respect to {}: {}", ys[0].name(),
              xs[i].name(), why_no_gradient(graph, ys, xs[i]));
      grads[i] = zeros_like(xs[i]);
    }
  }
  return grads;
}

std::vector<Var> grad(Var y, const std::vector<Var>& xs, const GradOptions& options) {
  common_graph({y}, xs);
  return vjp({y}, {ones_like(y)}, xs, options);
}

Var grad(Var y, Var x, const GradOptions& options) {
  return grad(y, std::vector<Var>{x}, options)[0];
}

std::vector<Var> jvp(const std::vector<Var>& ys, const std::vector<Var>& xs,
                     const std::vector<Var>& tangents) {
  Graph& graph = common_graph(ys, xs);
  const PlanPause pause(graph);
  std::vector<Var> result =
      walk_forward(graph, xs, fitted(tangents, xs, "tangent"), ys, Reach::graph);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    result[i] = result[i].valid() ? result[i] : zeros_like(ys[i]);
  }
  return result;
}

Var jacobian(Var y, Var x, JacobianMode mode) {
  Graph& graph = common_graph({y}, {x});
  const PlanPause pause(graph);
  const Dim rows = numel(y.shape()), columns = numel(x.shape());
  const bool x_is_smaller = rows.range().min > columns.range().max;
  const bool forward =
      mode == JacobianMode::forward || (mode == JacobianMode::automatic && x_is_smaller);
  const auto derivative = [&](Var step, const Vars&, const Vars&) -> StepResult {
    if (forward) {
      return {{}, {jvp({y}, {x}, {unit(x.dtype(), x.shape(), step)})[0]}};
    }
    return {{}, {vjp({y}, {unit(y.dtype(), y.shape(), step)}, {x}, {.zero_if_unused = true})[0]}};
  };
  // One step per unit vector; the steps know their number and need no data.
  const Var steps = iota(graph, DType::i64, forward ? columns : rows);
  const Var stacked = chain({}, {steps}, derivative).ys[0];
  if (!forward) {
    return reshape(stacked, joined(y.shape(), x.shape()));
  }
  return reshape(transpose(reshape(stacked, {columns, rows})), joined(y.shape(), x.shape()));
}

Var hessian_vector_product(Var y, Var x, Var v) {
  return jvp({grad(y, x, {.zero_if_unused = true})}, {x}, {v})[0];
}

}  // namespace antichain
