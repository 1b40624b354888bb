#include "antichain/nn/embedding.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/segments.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::nn {

namespace {

Var make_table(const Layer& layer, std::string_view kind, std::int64_t vocabulary,
               std::int64_t width, const Initialiser& initialiser) {
  require_positive(kind, "vocabulary", vocabulary);
  require_positive(kind, "width", width);
  return layer.parameter("weight", {vocabulary, width}, initialiser);
}

void require_bags(Var ids, const EmbeddingBagOptions& options) {
  require<ShapeError>(ids.rank() == 1 || ids.rank() == 2,
                      "embedding_bag: ids must be [count] with offsets or [bags, most] with "
                      "lengths, their shape is {}",
                      to_string(ids.shape()));
  const bool flat = ids.rank() == 1;
  require(!flat || options.offsets.valid(),
          "embedding_bag: ids of one axis need the offsets of the bags");
  require(flat || !options.offsets.valid(),
          "embedding_bag: ids of two axes take lengths, not offsets");
  require(!flat || !options.lengths.valid(),
          "embedding_bag: ids of one axis take offsets, not lengths");
  const Var sizes = flat ? options.offsets : options.lengths;
  if (sizes.valid()) {
    const std::string_view what = flat ? "offsets" : "lengths";
    require_integers("embedding_bag", what, sizes);
    require<ShapeError>(sizes.rank() == 1,
                        "embedding_bag: {} must have one axis, their shape is {}", what,
                        to_string(sizes.shape()));
  }
}

// Elements beyond a row's length go to one bag more, which is dropped.
Var padded_bags(Var table, Var ids, const EmbeddingBagOptions& options) {
  Graph& graph = ids.graph();
  const Dim rows = ids.dim(0);
  Var bags = broadcast_to(expand_dims(iota(graph, DType::i64, rows), 1), ids.shape());
  if (options.lengths.valid()) {
    const Var position = iota(graph, options.lengths.dtype(), ids.dim(1));
    const Var inside = less(position, expand_dims(options.lengths, 1));
    bags = select(inside, bags, dim_value(graph, rows));
    ids = select(inside, ids, 0);
  }
  const Var found =
      antichain::embedding_bag(table, reshape(ids, {numel(ids.shape())}),
                               reshape(bags, {numel(ids.shape())}), rows + 1, options.mode);
  return slice(found, {{.axis = 0, .stop = rows}});
}

}  // namespace

// The table is not cast: a lookup copies f32 rows, and only those are converted.
Var embedding(Var ids, std::int64_t vocabulary, std::int64_t width, const EmbeddingOptions& options,
              Place place) {
  const UserCall call(ids, place);
  require_integers("embedding", "ids", ids);
  const Layer layer("embedding", ids.graph(), options.dtype, options.name);
  const Var table = make_table(layer, "embedding", vocabulary, width, options.weight);
  return layer.used(antichain::embedding(table, ids));
}

Var embedding_bag(Var ids, std::int64_t vocabulary, std::int64_t width,
                  const EmbeddingBagOptions& options, Place place) {
  const UserCall call(ids, place);
  require_integers("embedding_bag", "ids", ids);
  require_bags(ids, options);
  const Layer layer("embedding_bag", ids.graph(), options.dtype, options.name);
  const Var table = make_table(layer, "embedding_bag", vocabulary, width, options.weight);
  if (ids.rank() == 2) {
    return layer.used(padded_bags(table, ids, options));
  }
  const Var bags = row_of_each(options.offsets, ids.dim(0));
  return layer.used(
      antichain::embedding_bag(table, ids, bags, options.offsets.dim(0), options.mode));
}

}  // namespace antichain::nn
