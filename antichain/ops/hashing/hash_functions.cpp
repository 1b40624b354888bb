#include "antichain/ops/hashing/hash_functions.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/random.h"

namespace antichain {

namespace {

template <class Enum>
Enum index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  require(found != names.end(), "'{}' is no hash family or transform", name);
  return static_cast<Enum>(found - names.begin());
}

const std::string& name_at(const std::vector<std::string>& names, std::size_t index) {
  return names[index];
}

Var functions_from(Var uniform, const HashSpec& spec) {
  Graph& graph = uniform.graph();
  switch (spec.family) {
    case HashFamily::simhash: {
      // One of three coordinates counts: sums take a third of the time, and say as much.
      const Var sign =
          select(less(uniform, 1.0 / 6), scalar(graph, f32, -1), scalar(graph, f32, 1));
      return select(less(uniform, 1.0 / 3), sign, scalar(graph, f32, 0));
    }
    case HashFamily::minhash: return cast(floor(uniform * 0x1p24), i32);
    default: return cast(floor(uniform * static_cast<double>(spec.coordinates())), i32);
  }
}

}  // namespace

const std::vector<std::string>& HashSpec::family_names() {
  static const std::vector<std::string> names = {"simhash", "wta", "dwta", "minhash"};
  return names;
}

const std::vector<std::string>& HashSpec::transform_names() {
  static const std::vector<std::string> names = {"none", "norms", "powers"};
  return names;
}

HashSpec HashSpec::of(const Attrs& attrs) {
  return {
      .family = index_of<HashFamily>(family_names(), attrs.get<std::string>("family")),
      .transform = index_of<HashTransform>(transform_names(), attrs.get<std::string>("transform")),
      .pieces = attrs.get<std::int64_t>("pieces"),
      .tables = attrs.get<std::int64_t>("tables"),
      .features = attrs.get<std::int64_t>("features"),
      .range = attrs.get<std::int64_t>("range")};
}

std::vector<AttrSpec> HashSpec::attribute_specs() {
  return {{"family", "of hash functions"},
          {"transform", "how inner products become angles"},
          {"pieces", "of a code"},
          {"tables", "codes of a vector"},
          {"features", "coordinates of a vector"},
          {"range", "buckets of a table that codes are folded into; 0: one each"}};
}

void HashSpec::add_to(Attrs& attrs) const {
  attrs.set("family", name_at(family_names(), static_cast<std::size_t>(family)));
  attrs.set("transform", name_at(transform_names(), static_cast<std::size_t>(transform)));
  attrs.set("pieces", pieces);
  attrs.set("tables", tables);
  attrs.set("features", features);
  attrs.set("range", range);
}

std::int64_t HashSpec::coordinates() const {
  const std::int64_t with_bias = features + 1;
  return transform == HashTransform::none    ? with_bias
         : transform == HashTransform::norms ? with_bias + 1
                                             : with_bias + kPowers;
}

DType HashSpec::functions_dtype() const {
  return family == HashFamily::simhash ? DType::f32 : DType::i32;
}

Shape HashSpec::functions_shape() const {
  const bool per_coordinate = family == HashFamily::simhash || family == HashFamily::minhash;
  return per_coordinate ? Shape{coordinates(), num_functions()} : Shape{num_functions(), kBin};
}

Var draw_hash_functions(Graph& graph, const HashSpec& spec, const Operand& key) {
  return functions_from(
      random_uniform(graph, f32, to_dims(spec.functions_shape()), {.key = key.var()}), spec);
}

Var draw_hash_functions(Graph& graph, const HashSpec& spec) {
  return functions_from(random_uniform(graph, f32, to_dims(spec.functions_shape())), spec);
}

}  // namespace antichain
