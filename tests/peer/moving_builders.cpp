// Shapes, slices, joining.
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

std::vector<SliceRange> ranges(const Case& c) {
  std::vector<SliceRange> result;
  for (const Ints& range : c.get<std::vector<Ints>>("ranges")) {
    result.push_back(
        {.axis = range.at(0), .start = range.at(1), .stop = range.at(2), .step = range.at(3)});
  }
  return result;
}

Builders shape_builders() {
  return {
      {"reshape",
       [](const Case& c, const Vars& in) -> Vars { return {reshape(in.at(0), c.dims("shape"))}; }},
      {"transpose",
       [](const Case& c, const Vars& in) -> Vars {
         return {transpose(in.at(0), c.ints("permutation"))};
       }},
      {"swap_axes",
       [](const Case& c, const Vars& in) -> Vars {
         return {swap_axes(in.at(0), c.get<std::int64_t>("a"), c.get<std::int64_t>("b"))};
       }},
      {"broadcast_to",
       [](const Case& c, const Vars& in) -> Vars {
         return {broadcast_to(in.at(0), c.dims("shape"))};
       }},
      {"sum_to",
       [](const Case& c, const Vars& in) -> Vars { return {sum_to(in.at(0), c.dims("shape"))}; }},
      {"expand_dims",
       [](const Case& c, const Vars& in) -> Vars { return {expand_dims(in.at(0), axis(c))}; }},
      {"squeeze",
       [](const Case& c, const Vars& in) -> Vars { return {squeeze(in.at(0), axis(c))}; }},
      {"flip",
       [](const Case& c, const Vars& in) -> Vars { return {flip(in.at(0), c.ints("axes"))}; }},
      {"tile",
       [](const Case& c, const Vars& in) -> Vars { return {tile(in.at(0), c.ints("counts"))}; }},
      {"nonzero", [](const Case&, const Vars& in) -> Vars { return {nonzero(in.at(0))}; }},
  };
}

Builders slicing_builders() {
  return {
      {"slice", [](const Case& c, const Vars& in) -> Vars { return {slice(in.at(0), ranges(c))}; }},
      {"set_slice",
       [](const Case& c, const Vars& in) -> Vars {
         return {set_slice(in.at(0), in.at(1), ranges(c))};
       }},
      {"index",
       [](const Case& c, const Vars& in) -> Vars {
         return {index(in.at(0), axis(c), c.get<std::int64_t>("position"))};
       }},
      {"dynamic_slice",
       [](const Case& c, const Vars& in) -> Vars {
         return {dynamic_slice(in.at(0), in.at(1), c.dims("sizes"))};
       }},
      {"dynamic_set_slice",
       [](const Case&, const Vars& in) -> Vars {
         return {dynamic_set_slice(in.at(0), in.at(1), in.at(2))};
       }},
      {"pad",
       [](const Case& c, const Vars& in) -> Vars {
         return {pad(in.at(0), c.dims("before"), c.dims("after"), c.get<double>("value"))};
       }},
      {"concat", [](const Case& c, const Vars& in) -> Vars { return {concat(in, axis(c))}; }},
      {"stack", [](const Case& c, const Vars& in) -> Vars { return {stack(in, axis(c))}; }},
      {"split",
       [](const Case& c, const Vars& in) { return split(in.at(0), c.dims("sizes"), axis(c)); }},
  };
}

}  // namespace

Builders moving_builders() {
  Builders table = shape_builders();
  table.merge(slicing_builders());
  return table;
}

}  // namespace antichain::peer
