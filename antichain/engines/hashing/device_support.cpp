#include "antichain/engines/hashing/device_support.h"

#include <vector>

#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/shape/creation.h"

namespace antichain::hashing {

// The device is asked about the ops themselves, built for nobody.
Support device_support(const HashingDevice& device, const Options& options, DType weights) {
  if (!device.computes) {
    return {};
  }
  Graph graph;
  const std::int64_t units = options.active.units, features = options.spec.features;
  const HashBy by{
      options.spec,
      full(graph, options.spec.functions_dtype(), to_dims(options.spec.functions_shape()), 0),
      graph.input("largest", DType::f32, {})};
  const Var codes = hash_data(graph.input("weight", weights, {units, features}),
                              graph.input("bias", weights, {units}), by);
  const Var queries =
      hash_queries(graph.input("x", weights, {"examples", features}), by, options.probes);
  const HashTables tables = hash_tables(codes, options.tables);
  const Var step = graph.input("step", DType::i64, {});
  const ActiveUnits active = active_units(queries, tables, {}, step, options.active);
  for (const Var made : {queries, codes, tables.starts, active.common}) {
    if (Support support = device.computes(made.producer()); !support.yes) {
      return support;
    }
  }
  return {};
}

}  // namespace antichain::hashing
