// Lookups and sparse matrices.
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

std::int64_t axis_or_first(const Case& c) { return c.get<std::int64_t>("axis", 0); }

BagMode bag_mode(const Case& c) {
  return c.get<std::string>("mode") == "mean" ? BagMode::mean : BagMode::sum;
}

}  // namespace

Builders indexing_builders() {
  return {
      {"gather",
       [](const Case& c, const Vars& in) -> Vars {
         return {gather(in.at(0), in.at(1), axis_or_first(c))};
       }},
      {"scatter_add",
       [](const Case& c, const Vars& in) -> Vars {
         return {scatter_add(in.at(0), in.at(1), in.at(2), axis_or_first(c))};
       }},
      {"take_along",
       [](const Case& c, const Vars& in) -> Vars {
         return {take_along(in.at(0), in.at(1), axis_or_first(c))};
       }},
      {"scatter_add_along",
       [](const Case& c, const Vars& in) -> Vars {
         return {scatter_add_along(in.at(0), in.at(1), in.at(2), axis_or_first(c))};
       }},
      {"one_hot",
       [](const Case& c, const Vars& in) -> Vars {
         return {one_hot(in.at(0), c.get<std::int64_t>("classes"), f64)};
       }},
      {"embedding",
       [](const Case&, const Vars& in) -> Vars { return {embedding(in.at(0), in.at(1))}; }},
      {"embedding_bag",
       [](const Case& c, const Vars& in) -> Vars {
         return {embedding_bag(in.at(0), in.at(1), in.at(2), c.get<std::int64_t>("num_bags"),
                               bag_mode(c))};
       }},
      {"csr_matmul",
       [](const Case& c, const Vars& in) -> Vars {
         const Csr sparse{in.at(0), in.at(1), in.at(2), c.get<std::int64_t>("num_columns")};
         return {csr_matmul(sparse, in.at(3), c.flag("transposed"))};
       }},
      {"csr_sampled_matmul",
       [](const Case& c, const Vars& in) -> Vars {
         const Csr pattern{{}, in.at(0), in.at(1), c.get<std::int64_t>("num_columns")};
         return {csr_sampled_matmul(pattern, in.at(2), in.at(3))};
       }},
  };
}

}  // namespace antichain::peer
