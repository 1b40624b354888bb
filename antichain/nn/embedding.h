// Tables that are looked up by integer ids.
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/indexing/indexing.h"

namespace antichain::nn {

struct EmbeddingOptions {
  std::string name = "embedding";
  DType dtype = DType::f32;  // of the result
  Initialiser weight = normal();
};
/// Looks ids[...] up in the table "<name>.weight" of shape [vocabulary, width].
Var embedding(Var ids, std::int64_t vocabulary, std::int64_t width,
              const EmbeddingOptions& options = {}, Place place = Place::current());

struct EmbeddingBagOptions {
  std::string name = "embedding_bag";
  BagMode mode = BagMode::mean;
  Var offsets = {};          // of ids[count]: where each bag starts, from 0, not decreasing
  Var lengths = {};          // of ids[bags, most]: how many of a row count; none: all
  DType dtype = DType::f32;  // of the result
  Initialiser weight = normal();
};
/// Looks ids up in the table "<name>.weight" of shape [vocabulary, width] and adds or averages
/// those of one bag. Empty bags are 0.
Var embedding_bag(Var ids, std::int64_t vocabulary, std::int64_t width,
                  const EmbeddingBagOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
