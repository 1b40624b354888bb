#include "antichain/ops/elementwise/elementwise_row.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain::elementwise {

namespace {

using OnDims = Dim (*)(Dim, Dim);

// An element as the run would compute it, if that is known: integers wrap, sizes do not.
std::optional<Dim> known_element(OnDims on_dims, Dim a, Dim b, DType dtype) {
  try {
    const Dim result = on_dims(a, b);
    const bool fits =
        !result.is_constant() ||
        Tensor::scalar<std::int64_t>(result.constant()).cast(dtype).item<std::int64_t>() ==
            result.constant();
    return fits ? std::optional(result) : std::nullopt;
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

// Small integer values whose elements are known as dims keep being known.
std::optional<Dims> known_value(const InferContext& context, OnDims on_dims) {
  if (!on_dims || !context.type(0).value || !context.type(1).value) {
    return std::nullopt;
  }
  const Dims &a = *context.type(0).value, &b = *context.type(1).value;
  if (context.rank(0) > 1 || context.rank(1) > 1 ||
      (a.size() != b.size() && a.size() != 1 && b.size() != 1)) {
    return std::nullopt;
  }
  Dims result;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto element = known_element(on_dims, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i],
                                       context.dtype(0));
    if (!element) {
      return std::nullopt;
    }
    result.push_back(*element);
  }
  return result;
}

std::vector<VarType> infer_elementwise(InferContext& context, int arity, DTypeSet dtypes,
                                       bool predicate, OnDims on_dims) {
  context.require_inputs(arity);
  for (int i = 0; i < arity; ++i) {
    context.require_dtype(i, dtypes);
  }
  const DType dtype = context.require_same_dtype();
  Dims shape = context.shape(0);
  for (int i = 1; i < arity; ++i) {
    shape = context.broadcast(shape, context.shape(i));
  }
  return {{predicate ? DType::boolean : dtype, shape, known_value(context, on_dims)}};
}

// Multiplies, unless the factor is the constant 1 or -1, as it is for sums and differences.
Var scaled(Var grad, Var slope) {
  if (!grad.graph().is_region_param(slope) && &slope.producer().def() == &constant_def() &&
      numel(slope.shape()) == Dim(1)) {
    const double factor = slope.producer().attrs().get<Tensor>("value").item<double>();
    if (factor == 1) {
      return grad;
    }
    if (factor == -1) {
      return -grad;
    }
  }
  return grad * slope;
}

std::vector<Sample> elementwise_samples(const OpDef& def, int arity, double low, double high) {
  const OpDef* op = &def;
  const auto build = [op](Graph& graph, std::span<const Var> in) {
    return graph.add(*op, {in.begin(), in.end()}).outputs();
  };
  const auto sample = [&](std::string label, std::vector<Shape> shapes) {
    Sample result{std::move(label), {}, build};
    for (Shape& shape : shapes) {
      result.inputs.push_back({std::move(shape), low, high});
    }
    return result;
  };
  if (arity == 1) {
    return {sample("vector", {{7}}), sample("scalar", {{}}), sample("odd", {{3, 1, 5}}),
            sample("empty", {{0, 3}})};
  }
  return {sample("same shape", {{3, 5}, {3, 5}}), sample("scalars", {{}, {}}),
          sample("broadcast", {{3, 1, 2}, {5, 1}}), sample("by scalar", {{}, {2, 3}}),
          sample("empty", {{0, 3}, {3}})};
}

}  // namespace

OpDef make_def(const ElementwiseRow& row, int arity,
               std::function<void(KernelContext&)> reference) {
  OpDef def{
      .name = row.name,
      .doc = row.doc,
      .dtypes = row.dtypes,
      .infer =
          [arity, dtypes = row.dtypes, predicate = row.predicate,
           on_dims = row.on_dims](InferContext& context) {
            return infer_elementwise(context, arity, dtypes, predicate, on_dims);
          },
      .no_gradient = row.predicate && row.no_gradient.empty() ? "its result is true or false"
                                                              : row.no_gradient,
      .vmap = vmap_elementwise,
      .decompose = row.decompose,
      .rewrites = row.rewrites,
      .reference = std::move(reference),
  };
  if (row.partials) {
    def.vjp = [partials = row.partials](VjpContext& context) {
      const std::vector<Var> inputs = context.op().inputs();
      const std::vector<Var> slopes = partials(inputs, context.output());
      std::vector<Var> grads;
      for (int i = 0; i < context.num_inputs(); ++i) {
        const Var slope = slopes[static_cast<std::size_t>(i)];
        const bool wanted = context.needs(i) && slope.valid();
        grads.push_back(wanted ? sum_to(scaled(context.grad(), slope), context.input(i).shape())
                               : Var());
      }
      return grads;
    };
    def.jvp = [partials = row.partials](JvpContext& context) {
      const std::vector<Var> slopes = partials(context.op().inputs(), context.output());
      Var total;
      for (int i = 0; i < context.num_inputs(); ++i) {
        const Var slope = slopes[static_cast<std::size_t>(i)];
        if (context.has_tangent(i) && slope.valid()) {
          const Var term =
              broadcast_to(scaled(context.tangent(i), slope), context.output().shape());
          total = total.valid() ? total + term : term;
        }
      }
      return std::vector<Var>{total};
    };
  }
  if (row.pullback) {
    def.vjp = [pullback = row.pullback](VjpContext& context) {
      return std::vector<Var>{pullback(context.grad(), context.input(0), context.output())};
    };
    def.jvp = [pullback = row.pullback](JvpContext& context) {
      return std::vector<Var>{
          pullback(context.tangent(0), context.op().input(0), context.output())};
    };
  }
  def.samples = [self = row.self, arity, low = row.low, high = row.high] {
    return elementwise_samples(self(), arity, low, high);
  };
  return def;
}

}  // namespace antichain::elementwise
