// Reductions, walks along an axis, sorting, matrix products.
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

using Reduction = Var (*)(const Operand&, const Ints&, bool);
using Search = Var (*)(const Operand&, std::int64_t, bool);

Builder over_axes(Reduction function) {
  return [function](const Case& c, const Vars& in) -> Vars {
    return {function(in.at(0), c.ints("axes"), c.flag("keep_dims"))};
  };
}

Builder along_axis(Search function) {
  return [function](const Case& c, const Vars& in) -> Vars {
    return {function(in.at(0), c.get<std::int64_t>("axis"), c.flag("keep_dims"))};
  };
}

Vars both(const Sorted& sorted) { return {sorted.values, sorted.indices}; }

}  // namespace

Builders reduction_builders() {
  Builders table;
  const std::initializer_list<std::pair<const char*, Reduction>> reductions = {
      {"sum", sum}, {"mean", mean}, {"prod", prod},
      {"min", min}, {"max", max},   {"logsumexp", logsumexp}};
  for (const auto& [name, function] : reductions) {
    table[name] = over_axes(function);
  }
  table["argmin"] = along_axis(argmin);
  table["argmax"] = along_axis(argmax);
  table["variance"] = [](const Case& c, const Vars& in) -> Vars {
    return {variance(in.at(0), c.ints("axes"), c.flag("keep_dims"),
                     c.get<std::int64_t>("correction", 0))};
  };
  table["cumsum"] = [](const Case& c, const Vars& in) -> Vars {
    return {cumsum(in.at(0), c.get<std::int64_t>("axis"),
                   {.exclusive = c.flag("exclusive"), .reverse = c.flag("reverse")})};
  };
  table["sort"] = [](const Case& c, const Vars& in) {
    return both(sort(in.at(0), c.get<std::int64_t>("axis"), c.flag("descending")));
  };
  table["sorted_cubes"] = [](const Case&, const Vars& in) -> Vars {
    return {pow(sort(in.at(0), 1).values, 3.0)};
  };
  table["top_k"] = [](const Case& c, const Vars& in) {
    return both(
        top_k(in.at(0), c.get<std::int64_t>("k"), c.get<std::int64_t>("axis"), c.flag("largest")));
  };
  table["matmul"] = [](const Case& c, const Vars& in) -> Vars {
    return {matmul(in.at(0), in.at(1),
                   {.transpose_a = c.flag("transpose_a"), .transpose_b = c.flag("transpose_b")})};
  };
  return table;
}

}  // namespace antichain::peer
