#include "antichain/passes/fusion/fuse_products.h"

#include <algorithm>

#include "antichain/graph/id_map.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"
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
    IdMap<VarId, OpId> reader;  // the first one
    IdSet<VarId> read_elsewhere;
    IdSet<OpId> waited_for;
    for (Var result : results) {
      read_elsewhere.insert(result.id());
    }
    for (Op op : ops) {
      for (Var input : op.inputs()) {
        OpId& first = reader[input.id()];
        if (first.valid() && first != op.id()) {
          read_elsewhere.insert(input.id());
        }
        first = first.valid() ? first : op.id();
      }
      for (const ControlEdge& edge : op.control_edges()) {
        waited_for.insert(edge.before);
      }
    }
    IdSet<OpId> products;
    for (Op op : ops) {
      if (!is_free(op) || waited_for.contains(op.id())) {
        continue;
      }
      if (is_fusible_product(op.def())) {
        if (!read_elsewhere.contains(op.output().id()) && !is_short_product(op)) {
          products.insert(op.id());
        }
      } else if (const Op product = last_product(op, products); product.valid()) {
        product_of_[op.id()] = product;
        joined_.insert(product.id());
      }
    }
  }

  // The product that an op is computed with, if there is one.
  Op product_of(Op reader) const { return product_of_(reader.id()); }
  bool is_joined(Op product) const { return joined_.contains(product.id()); }

 private:
  static Op last_product(Op reader, const IdSet<OpId>& products) {
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

  IdMap<OpId, Op> product_of_;  // by reader
  IdSet<OpId> joined_;
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
  const auto apart = taken_apart(source, {&fused_product_def()});
  return copy_graph(apart ? *apart : source, {.copy_ops = copy_by_pairs});
}

}  // namespace antichain
