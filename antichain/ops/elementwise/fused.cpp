#include "antichain/ops/elementwise/fused.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "antichain/graph/clone.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/control_flow/region_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain {

namespace {

bool is_number(Op op) { return &op.def() == &constant_def() && op.output().rank() == 0; }

// The first axis from which on `rows` is 1 while `domain` is not; its rank if they are equal; none
// if they differ otherwise.
std::optional<std::size_t> first_row_axis(const Dims& domain, const Dims& rows) {
  if (domain.size() != rows.size()) {
    return {};
  }
  std::size_t first = 0;
  while (first < domain.size() && domain[first] == rows[first]) {
    ++first;
  }
  const bool ones = std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                [](Dim dim) { return dim == Dim(1); });
  return ones ? std::optional(first) : std::nullopt;
}

std::vector<VarType> infer_fused(InferContext& context) {
  Graph& graph = context.graph();
  const RegionId body = context.regions()[0];
  const Vars results = graph.vars(graph.region(body).results);
  require(!results.empty(), "fused: the body returns nothing");
  const FusedShape shape = fused_shape(graph, body);
  for (OpId id : graph.region(body).ops) {
    const Op op = graph.op(id);
    if (is_number(op)) {
      continue;
    }
    const bool reduces = reduces_rows(op);
    require(reduces || is_elementwise(op.def()),
            "fused: {} is neither element-wise nor a reduction of rows", op.def().name);
    const Dims& own = reduces ? op.input(0).shape() : op.output().shape();
    require<ShapeError>(own == shape.domain || (!reduces && own == shape.rows),
                        "fused: {} has shape {}, others have {}", op.def().name, to_string(own),
                        to_string(shape.domain));
    if (reduces) {
      require<ShapeError>(kept_shape(op) == shape.rows, "fused: {} leaves {}, others {}",
                          op.def().name, to_string(kept_shape(op)), to_string(shape.rows));
    }
  }
  std::vector<VarType> types;
  for (Var result : results) {
    types.push_back({result.dtype(), result.shape()});
  }
  return types;
}

std::vector<Sample> fused_samples() {
  const auto bias_and_activation = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] { return Vars{tanh(in[0] + in[1])}; });
  };
  const auto several = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var sum = in[0] * in[1] + in[2];
      const Var rest = select(greater(sum, in[1]), sum, -in[0]);
      return Vars{sum, sigmoid(rest) * in[2]};
    });
  };
  const auto types = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var wide = cast(in[0], DType::f64) * 2;
      return Vars{cast(wide, in[0].dtype()), greater(wide, 0.5), clip(in[0], -1, 1)};
    });
  };
  const auto softmax_by_hand = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var e = exp(in[0] - max(in[0], {-1}, true));
      const Var total = sum(e, {-1}, true);
      return Vars{e / total, log(total)};
    });
  };
  const auto centred = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] {
      const Var distance = in[0] - mean(in[0], {1, 2}, true) * in[1];
      return Vars{distance * in[2], mean(square(distance), {1, 2}, true)};
    });
  };
  const auto ends_in_a_number = [](Graph& graph, std::span<const Var> in) {
    return fused(graph, [&] { return Vars{sum(in[0] * in[0])}; });
  };
  return {{"bias and activation", {{{5, 3}}, {{3}}}, bias_and_activation},
          {"several results", {{{2, 3, 4}}, {{3, 1}}, {{2, 1, 4}}}, several},
          {"several types", {{{7}}}, types},
          {"numbers", {{{}}, {{}}, {{}}}, several},
          {"empty", {{{0, 3}}, {{3}}}, bias_and_activation},
          {"softmax", {{{4, 5}}}, softmax_by_hand},
          {"softmax of single elements", {{{3, 1}}}, softmax_by_hand},
          {"no rows", {{{0, 3}}}, softmax_by_hand},
          {"rows of two axes", {{{3, 2, 4}}, {{3, 1, 1}}, {{2, 4}}}, centred},
          {"mean of squares", {{{3, 5}}}, ends_in_a_number}};
}

}  // namespace

bool is_elementwise(const OpDef& def) {
  static const std::unordered_set<const OpDef*> known = [] {
    std::unordered_set<const OpDef*> all;
    for (const auto& family : {elementwise_unary_family(), elementwise_binary_family(),
                               elementwise_gradient_family(), elementwise_other_family()}) {
      all.insert(family.begin(), family.end());
    }
    return all;
  }();
  return known.contains(&def);
}

bool reduces_rows(Op op) {
  static const std::unordered_set<const OpDef*> known = {&sum_def(), &prod_def(), &mean_def(),
                                                         &reduce_min_def(), &reduce_max_def()};
  return known.contains(&op.def()) &&
         first_row_axis(op.input(0).shape(), kept_shape(op)).has_value();
}

std::size_t FusedShape::row_axes() const { return domain.size() - *first_row_axis(domain, rows); }

FusedShape fused_shape(Graph& graph, RegionId body) {
  std::optional<FusedShape> shape;
  for (OpId id : graph.region(body).ops) {
    const Op op = graph.op(id);
    if (reduces_rows(op)) {
      return {op.input(0).shape(), kept_shape(op)};
    }
    if (is_number(op) || op.num_outputs() == 0) {
      continue;
    }
    const Dims& own = op.output().shape();
    if (!shape) {
      shape = {own, own};
    } else if (own == shape->domain || own == shape->rows) {
      continue;
    } else if (first_row_axis(shape->domain, own)) {
      shape->rows = own;
    } else if (first_row_axis(own, shape->domain)) {
      shape = {own, shape->domain};
    }
  }
  require(shape.has_value(), "fused: the body computes nothing");
  return *shape;
}

const OpDef& fused_def() {
  static const OpDef def{
      .name = "fused",
      .doc = "Computes a body of element-wise ops and reductions of rows together.",
      .attributes = {{"label", "names of the ops, for messages", {std::string()}},
                     {"contract", "whether a * b + c may be rounded once", {false}}},
      .on_any_device = true,
      .infer = infer_fused,
      .decompose = [](Op op) { return inline_region(op.graph(), op.regions()[0], op.inputs()); },
      .reference = [](KernelContext& context) { run_whole_region(context, 0, context.inputs); },
      .samples = fused_samples,
  };
  return def;
}

Vars fused(Graph& graph, const std::function<Vars()>& body, Place place) {
  RegionScope scope(graph);
  const RegionId region = scope.finish(body());
  return add_fused(graph, region, scope.captures(), place).outputs();
}

Op add_fused(Graph& graph, RegionId body, const Vars& captures, Place place, const OpDef& def) {
  std::string label;
  for (OpId id : graph.region(body).ops) {
    if (const Op op = graph.op(id); !is_number(op)) {
      label += (label.empty() ? "" : ", ") + op.def().name;
    }
  }
  return graph.add(def, captures, {{"label", label}}, {body}, place);
}

std::vector<const OpDef*> fusion_family() { return {&fused_def()}; }

}  // namespace antichain
