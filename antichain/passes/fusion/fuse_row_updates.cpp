#include "antichain/passes/fusion/fuse_row_updates.h"

#include <unordered_map>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/row_update_parts.h"
#include "antichain/passes/simplify/zero_values.h"

namespace antichain {

namespace {

// The parts of a gradient: a product, and rows that are added to it; none: no value.
struct GradientParts {
  Var product, added = {};
};

bool is_matrix_product(Var gradient) {
  return made_by(gradient, csr_matmul_def()) && gradient.rank() == 2 &&
         gradient.producer().attrs().get<bool>("transposed");
}

// Rows, or numbers of a vector, that are added to zeros.
bool is_sum_of_rows(Var gradient) {
  return made_by(gradient, scatter_add_def()) && gradient.rank() <= 2 &&
         gradient.producer().input(1).rank() == 1 &&
         gradient.producer().input(2).rank() == gradient.rank() &&
         normalize_axis(gradient.producer().attrs().get<std::int64_t>("axis"), gradient.rank(),
                        "axis") == 0 &&
         is_all_zero(gradient.producer().input(0));
}

bool is_product(Var gradient) {
  return is_matrix_product(gradient) || (gradient.rank() == 1 && is_sum_of_rows(gradient));
}

class Products {
 public:
  explicit Products(std::span<const Op> ops, std::span<const Var> results) {
    for (Op op : ops) {
      for (Var input : op.inputs()) {
        ++readers_[input.id()];
      }
    }
    for (Var result : results) {
      ++readers_[result.id()];
    }
  }

  /// Returns the parts of an update's gradient if nobody else reads it; no product otherwise.
  GradientParts parts_of(Op update) const {
    if (!could_take_product(update) || !is_read_here_alone(update.input(kGradient))) {
      return {};
    }
    const Var gradient = update.input(kGradient);
    if (is_product(gradient)) {
      return {gradient};
    }
    if (!made_by(gradient, add_def())) {
      return {};
    }
    const Var a = gradient.producer().input(0), b = gradient.producer().input(1);
    if (!is_read_here_alone(a) || !is_read_here_alone(b) || !(a.shape() == b.shape())) {
      return {};
    }
    if (is_product(a) && is_sum_of_rows(b)) {
      return {a, b};
    }
    return is_product(b) && is_sum_of_rows(a) ? GradientParts{b, a} : GradientParts{};
  }

 private:
  bool is_read_here_alone(Var value) const {
    const auto readers = readers_.find(value.id());
    return !value.graph().is_region_param(value) && readers != readers_.end() &&
           readers->second == 1 && is_free(value.producer());
  }

  std::unordered_map<VarId, int> readers_;
};

// Adds what an update takes behind its selection.
void add_factors(Cloner& cloner, const GradientParts& parts, std::vector<Var>& inputs) {
  Graph& graph = cloner.target();
  const Op op = parts.product.producer();
  if (is_matrix_product(parts.product)) {
    inputs[kGradient] = cloner(op.input(0));
    inputs.insert(inputs.end(), {cast(cloner(op.input(1)), DType::i64),
                                 cast(cloner(op.input(2)), DType::i64), cloner(op.input(3))});
  } else {
    const Var values = cloner(op.input(2));
    inputs[kGradient] = values;
    inputs.insert(inputs.end(), {cast(cloner(op.input(1)), DType::i64),
                                 iota(graph, DType::i64, 2) * dim_value(graph, values.dim(0)),
                                 ones(graph, values.dtype(), {1, 1})});
  }
  if (parts.added.valid()) {
    const Op sum = parts.added.producer();
    const Var rows = cloner(sum.input(2));
    inputs.push_back(rows.rank() == 1 ? expand_dims(rows, 1) : rows);
    inputs.push_back(cast(cloner(sum.input(1)), DType::i64));
  }
}

}  // namespace

GraphCopy fuse_row_updates(const GraphCopy& source) {
  return copy_graph(
      source,
      {.copy_ops = [](Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
        const Products products(ops, results);
        for (Op op : ops) {
          const GradientParts parts = products.parts_of(op);
          if (!parts.product.valid()) {
            cloner.copy(op);
            continue;
          }
          const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
          std::vector<Var> inputs = cloner(op.inputs());
          add_factors(cloner, parts, inputs);
          const Op copy = cloner.copy_with(op, inputs, op.attrs());
          cloner.map(op.output(), copy.output());
          if (op.output().has_name() && !copy.output().has_name()) {
            cloner.target().set_name(copy.output(), op.output().name());
          }
        }
      }});
}

bool has_indexed_rows(Graph& graph) { return has_op(graph, could_take_product); }

}  // namespace antichain
