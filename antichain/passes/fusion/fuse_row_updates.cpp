#include "antichain/passes/fusion/fuse_row_updates.h"

#include <optional>
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

// The factors of a gradient, in the order of the inputs of an update.
struct ProductFactors {
  Var values, slots, row_starts, dense;
};

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

  /// Returns whether the update's gradient is a product that nobody else reads.
  bool takes_part(Op update) const {
    if (!could_take_product(update)) {
      return false;
    }
    const Var gradient = update.input(kGradient);
    const auto readers = readers_.find(gradient.id());
    if (gradient.graph().is_region_param(gradient) || readers == readers_.end() ||
        readers->second != 1 || !is_free(gradient.producer())) {
      return false;
    }
    return is_matrix_product(gradient) || is_vector_sum(gradient);
  }

  static bool is_matrix_product(Var gradient) {
    return made_by(gradient, csr_matmul_def()) && gradient.rank() == 2 &&
           gradient.producer().attrs().get<bool>("transposed");
  }

 private:
  static bool is_vector_sum(Var gradient) {
    return made_by(gradient, scatter_add_def()) && gradient.rank() == 1 &&
           gradient.producer().input(1).rank() == 1 && is_all_zero(gradient.producer().input(0));
  }

  std::unordered_map<VarId, int> readers_;
};

ProductFactors factors_of(Cloner& cloner, Var gradient) {
  const Op op = gradient.producer();
  if (Products::is_matrix_product(gradient)) {
    return {cloner(op.input(0)), cast(cloner(op.input(1)), DType::i64),
            cast(cloner(op.input(2)), DType::i64), cloner(op.input(3))};
  }
  const Var values = cloner(op.input(2));
  Graph& graph = cloner.target();
  const Var starts = iota(graph, DType::i64, 2) * dim_value(graph, values.dim(0));
  return {values, cast(cloner(op.input(1)), DType::i64), starts,
          ones(graph, values.dtype(), {1, 1})};
}

}  // namespace

GraphCopy fuse_row_updates(const GraphCopy& source) {
  return copy_graph(
      source,
      {.copy_ops = [](Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
        const Products products(ops, results);
        for (Op op : ops) {
          if (!products.takes_part(op)) {
            cloner.copy(op);
            continue;
          }
          const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
          const ProductFactors factors = factors_of(cloner, op.input(kGradient));
          std::vector<Var> inputs = cloner(op.inputs());
          inputs[kGradient] = factors.values;
          inputs.insert(inputs.end(), {factors.slots, factors.row_starts, factors.dense});
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
