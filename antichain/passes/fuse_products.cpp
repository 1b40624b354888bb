#include "antichain/passes/fuse_products.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/traversal.h"
#include "antichain/ops/fused.h"
#include "antichain/ops/fused_product.h"
#include "antichain/ops/matmul.h"
#include "antichain/passes/body_copy.h"

namespace antichain {

namespace {

constexpr std::int64_t kShortAxis = 32;  // elements: below, writing a product is most of its work

bool is_short_product(Op op) {
  if (&op.def() != &matmul_def()) {
    return false;
  }
  const Dim inner = op.input(0).dim(op.attrs().get<bool>("transpose_a") ? -2 : -1);
  return inner.is_constant() && inner.constant() < kShortAxis;
}

bool is_free(Op op) { return op.control_edges().empty() && op.graph().constraints(op).empty(); }

bool is_fused(Op op) { return &op.def() == &fused_def(); }

// The element-wise ops of a reader: itself, or what its body consists of.
std::vector<Op> parts_of(Op reader) {
  return is_fused(reader) ? schedule_region(reader.graph(), reader.regions()[0])
                          : std::vector<Op>{reader};
}

// Whether an op computes values of one shape, element by element.
bool is_of_one_shape(Op op) {
  const Dims& shape = op.output().shape();
  return std::ranges::all_of(parts_of(op), [&](Op part) { return follows_product(part, shape); });
}

// Which ops of a region become one.
class ProductPairs {
 public:
  ProductPairs(std::span<const Op> ops, std::span<const Var> results) {
    std::unordered_map<VarId, OpId> reader;  // of values that have just one
    std::unordered_set<VarId> read_elsewhere;
    std::unordered_set<OpId> waited_for;
    for (Var result : results) {
      read_elsewhere.insert(result.id());
    }
    for (Op op : ops) {
      for (Var input : op.inputs()) {
        if (reader.try_emplace(input.id(), op.id()).first->second != op.id()) {
          read_elsewhere.insert(input.id());
        }
      }
      for (const ControlEdge& edge : op.control_edges()) {
        waited_for.insert(edge.before);
      }
    }
    std::unordered_set<OpId> products;
    for (Op op : ops) {
      if (!is_free(op) || waited_for.contains(op.id())) {
        continue;
      }
      if (is_fusible_product(op.def())) {
        if (!read_elsewhere.contains(op.output().id()) && !is_short_product(op)) {
          products.insert(op.id());
        }
      } else if (const Op product = last_product(op, products); product.valid()) {
        product_of_.emplace(op.id(), product);
        joined_.insert(product.id());
      }
    }
  }

  // The product that an op is computed with, if there is one.
  Op product_of(Op reader) const {
    const auto found = product_of_.find(reader.id());
    return found == product_of_.end() ? Op() : found->second;
  }
  bool is_joined(Op product) const { return joined_.contains(product.id()); }

 private:
  static Op last_product(Op reader, const std::unordered_set<OpId>& products) {
    Op last;
    if (!is_fused(reader) && !is_elementwise(reader.def())) {
      return last;
    }
    for (Var input : reader.inputs()) {
      if (reader.graph().is_region_param(input) || !products.contains(input.producer().id()) ||
          !(input.shape() == reader.output().shape())) {
        continue;
      }
      if (!last.valid() || last.id() < input.producer().id()) {
        last = input.producer();
      }
    }
    return last.valid() && is_of_one_shape(reader) ? last : Op();
  }

  std::unordered_map<OpId, Op> product_of_;  // by reader
  std::unordered_set<OpId> joined_;
};

void copy_pair(Cloner& cloner, Op product, Op reader) {
  BodyCopy body(cloner);
  body.copy(product);
  std::vector<Var> results = reader.outputs();
  if (is_fused(reader)) {
    Graph& graph = reader.graph();
    const RegionInfo& inside = graph.region(reader.regions()[0]);
    for (std::size_t i = 0; i < inside.params.size(); ++i) {
      cloner.map(graph.var(inside.params[i]), cloner(reader.input(static_cast<int>(i))));
    }
    results = graph.vars(inside.results);
  }
  for (Op part : parts_of(reader)) {
    body.copy(part);
  }
  body.finish(results, reader.outputs(), fused_product_def());
}

void copy_by_pairs(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
  const ProductPairs pairs(ops, results);
  for (Op op : ops) {
    if (const Op product = pairs.product_of(op); product.valid()) {
      copy_pair(cloner, product, op);
    } else if (!pairs.is_joined(op)) {
      cloner.copy(op);
    }
  }
}

}  // namespace

GraphCopy fuse_products(const GraphCopy& source) {
  // Pairs are not looked for inside of pairs.
  return copy_with_parts(source, {&fused_product_def()}, {.copy_ops = copy_by_pairs});
}

}  // namespace antichain
