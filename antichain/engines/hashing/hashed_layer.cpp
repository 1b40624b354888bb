#include "antichain/engines/hashing/hashed_layer.h"

#include <fmt/format.h>

#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::hashing {

namespace {

constexpr std::string_view kFunctions = ".functions";

// Declares a state that can be computed anew from others, and returns its value.
Var derived(const std::string& name, Var initial) {
  Graph& graph = initial.graph();
  graph.add_state({.name = name,
                   .type = {initial.dtype(), initial.shape()},
                   .initial = initial,
                   .is_derived = true});
  return read_state(graph, name);
}

Var saved(const std::string& name, Var initial) {
  Graph& graph = initial.graph();
  graph.add_state({.name = name, .type = {initial.dtype(), initial.shape()}, .initial = initial});
  return read_state(graph, name);
}

}  // namespace

StateNames::StateNames(const std::string& prefix)
    : functions(prefix + std::string(kFunctions)),
      largest(prefix + ".largest"),
      codes(prefix + ".codes"),
      marks(prefix + ".marks"),
      starts(prefix + ".starts"),
      ids(prefix + ".ids"),
      step(prefix + ".step"),
      next(prefix + ".next"),
      interval(prefix + ".interval") {}

StateNames StateNames::of(const WideLayer& layer) {
  std::string name = state_name(layer.own.front());
  name.resize(name.size() - kFunctions.size());
  return StateNames(name);
}

std::vector<Var> declare_states(const WideLayer& layer, std::size_t index, const Options& options) {
  Graph& graph = layer.weight.graph();
  const RegionSwitch at_root(graph);
  const StateNames names(graph.qualify(fmt::format("{}.hashing", index)));
  const Dim units = layer.weight.dim(0);
  const Var functions = saved(names.functions, draw_hash_functions(graph, options.spec));
  const Var largest = saved(names.largest, largest_norm(layer.weight, layer.bias));
  const HashBy by{options.spec, functions, largest};
  const Var codes = saved(names.codes, hash_data(layer.weight, layer.bias, by));
  saved(names.marks, full(graph, boolean, {units}, 0));
  const HashTables tables = hash_tables(codes, options.tables);
  const Var starts = derived(names.starts, tables.starts);
  const Var ids = derived(names.ids, tables.ids);
  const Var step = saved(names.step, scalar(graph, i64, 0));
  saved(names.next, constant(graph, Tensor::of<std::int64_t>({}, {options.rehash})));
  saved(names.interval, scalar(graph, f64, static_cast<double>(options.rehash)));
  return {functions, largest, starts, ids, step};
}

HashedLayer::HashedLayer(const WideLayer& layer, const Options& options)
    : layer_(layer),
      options_(for_layer(options, layer.weight.dim(0).constant(), layer.weight.dim(1).constant())) {
}

ActiveUnits HashedLayer::active(Var x, const LabelRows& truth) const {
  return active_units(hash_queries(x, hash(), options_.probes), tables(), truth, step(),
                      options_.active);
}

}  // namespace antichain::hashing
