#include "antichain/passes/chains/scan_factors.h"

#include <algorithm>
#include <unordered_map>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

constexpr int kFirstCoefficient = 2, kFirstFactors = 2;  // of inputs and outputs

// A scan, and of which of its weights an op computes the factors.
struct Factors {
  Op scan;
  std::size_t weight;
};

bool is_constant_one(Var x) {
  if (made_by(x, broadcast_to_def())) {
    x = x.producer().input(0);
  }
  if (x.graph().is_region_param(x) || &x.producer().def() != &constant_def()) {
    return false;
  }
  const std::vector<double> values = x.producer().attrs().get<Tensor>("value").to_vector<double>();
  return values.size() == 1 && values[0] == 1;
}

// Whether an op does to the states of a scan what `derivative` does to 1.
bool does_as(Op op, Op derivative, Var states) {
  if (&op.def() != &derivative.def() || !(op.attrs() == derivative.attrs()) ||
      !(op.input(0) == states) || !op.control_edges().empty()) {
    return false;
  }
  const Vars inputs = op.inputs(), others = derivative.inputs();
  return std::equal(inputs.begin() + 1, inputs.end(), others.begin() + 1, others.end());
}

// The op that a weight's coefficient is the derivative by, if it is one; the gradients of
// element-wise ops are linear in their first input.
Op derivative_of(Op scan, const WeightedForm& form, std::size_t weight) {
  Op found;
  for (std::size_t x = 0; x < form.products.size(); ++x) {
    if (form.products[x].weight == static_cast<std::int64_t>(weight)) {
      const Var coefficient =
          scan.input(kFirstCoefficient + static_cast<int>(form.diagonals.size() + x));
      if (found.valid() || scan.graph().is_region_param(coefficient)) {
        return {};  // factors are a sum
      }
      found = coefficient.producer();
    }
  }
  const bool is_derivative = found.valid() && is_elementwise(found.def()) &&
                             found.num_inputs() > 1 && found.def().name.ends_with("_gradient") &&
                             is_constant_one(found.input(0));
  return is_derivative ? found : Op();
}

using Found = std::unordered_map<OpId, Factors>;  // by the op that computes them again

Found find_factors(std::span<const Op> ops) {
  Found found;
  for (Op scan : ops) {
    if (&scan.def() != &weighted_scan_def() || scan.attrs().get<bool>("factors")) {
      continue;
    }
    const WeightedForm form = WeightedForm::of(scan.attrs());
    for (std::size_t weight = 0; form.states == 1 && weight < form.weight_to.size(); ++weight) {
      const Op derivative = derivative_of(scan, form, weight);
      for (Op op : ops) {
        if (derivative.valid() && does_as(op, derivative, scan.output(0))) {
          found.emplace(op.id(), Factors{scan, weight});
        }
      }
    }
  }
  return found;
}

void copy_with_factors(Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
  const Found found = find_factors(ops);
  std::unordered_map<OpId, Op> scans;  // with factors, by what they stand for
  for (Op op : ops) {
    const bool returns = std::ranges::any_of(
        found, [op](const auto& entry) { return entry.second.scan.id() == op.id(); });
    if (returns) {
      Attrs attrs = op.attrs();
      attrs.set("factors", true);
      const Op scan = cloner.copy_with(op, cloner(op.inputs()), attrs);
      scans.emplace(op.id(), scan);
      cloner.map(op.output(0), scan.output(0));
      cloner.map(op.output(1), scan.output(1));
    } else if (const auto again = found.find(op.id()); again != found.end()) {
      const auto& [scan, weight] = again->second;
      cloner.map(op.output(), scans.at(scan.id()).output(kFirstFactors + static_cast<int>(weight)));
    } else {
      cloner.copy(op);
    }
  }
}

}  // namespace

GraphCopy scan_factors(const GraphCopy& source) {
  return copy_graph(source, {.copy_ops = copy_with_factors});
}

}  // namespace antichain
