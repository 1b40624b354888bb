#include "antichain/engines/hashing/hashing_updates.h"

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::hashing {

namespace {

// Rows whose codes are looked at to see how many are out of date.
constexpr std::int64_t kDriftRows = 256;

// The norm that codes are computed with is above the largest one by this factor: all rows are
// hashed again when a row outgrows it.
constexpr double kRoomToGrow = 1.1;

// The share of the codes of some rows that are no longer what the rows have.
Var code_drift(const StateNames& names, const HashedLayer& hashed, Var weight, Var bias) {
  Graph& graph = weight.graph();
  const std::int64_t rows = std::min(kDriftRows, hashed.options().active.units);
  const Var draw = random_uniform(graph, f64, {rows});
  const Var ids = cast(floor(draw * static_cast<double>(hashed.options().active.units)), i64);
  const Var now = hash_data(gather(weight, ids), gather(bias, ids), hashed.hash());
  const Var known = gather(read_state(graph, names.codes), ids, 1);
  return mean(cast(not_equal(now, known), f64));
}

// Whether it is time by the schedule, whose intervals grow.
Var scheduled(const StateNames& names, const Options& options, Var step, std::vector<Var>& writes) {
  Graph& graph = step.graph();
  const Var next = read_state(graph, names.next), interval = read_state(graph, names.interval);
  const Var due = greater_equal(step, next);
  const Var longer = select(due, interval * options.rehash_growth, interval);
  writes.push_back(assign(graph, names.next, select(due, step + cast(floor(longer), i64), next)));
  writes.push_back(assign(graph, names.interval, longer));
  return due;
}

}  // namespace

std::vector<Var> layer_updates(const WideLayer& layer, const HashedLayer& hashed,
                               const ActiveUnits& units, bool whole_steps) {
  Graph& graph = layer.weight.graph();
  const StateNames names = StateNames::of(layer);
  const Options& options = hashed.options();
  const Var weight = read_state(graph, state_name(layer.weight)),
            bias = read_state(graph, state_name(layer.bias));
  std::vector<Var> writes = {add_update(graph, names.step, scalar(graph, i64, 1))};
  const Var step = writes.front();
  Var due = scheduled(names, options, step, writes);
  if (options.drift > 0) {
    const auto look = [&] {
      return Vars{greater_equal(code_drift(names, hashed, weight, bias), options.drift)};
    };
    due = whole_steps ? logical_and(due, look()[0])
                      : cond(due, look, [&] { return Vars{scalar(graph, boolean, 0)}; })[0];
  }
  HashBy by = hashed.hash();
  Var all = scalar(graph, boolean, options.rehash_all);
  if (options.new_functions > 0) {
    const Var renew = equal(modulo(step, options.new_functions), 0);
    const auto draw = [&] { return Vars{draw_hash_functions(graph, options.spec)}; };
    const Var functions = whole_steps ? select(renew, draw()[0], by.functions)
                                      : cond(renew, draw, [&] { return Vars{by.functions}; })[0];
    by.functions = assign(graph, names.functions, functions);
    writes.push_back(by.functions);
    due = logical_or(due, renew);
    all = logical_or(all, renew);
  }
  if (options.spec.transform != HashTransform::none) {
    // With another norm all codes are others. So it changes when a row has outgrown it, with room
    // to grow further, and whenever all rows are hashed anyway.
    const auto measure = [&] { return Vars{largest_norm(weight, bias)}; };
    const Var now = whole_steps ? largest_norm_if(due, weight, bias, by.largest)
                                : cond(due, measure, [&] { return Vars{by.largest}; })[0];
    const Var outgrown = greater(now, by.largest);
    all = logical_or(all, outgrown);
    by.largest =
        assign(graph, names.largest, select(logical_and(due, all), now * kRoomToGrow, by.largest));
    writes.push_back(by.largest);
  }
  const Var used = concat({units.ids, units.common}, 0);
  const Var codes = rehash_rows(names.codes, names.marks, weight, bias, by, {used, due, all});
  writes.push_back(codes);
  writes.push_back(update_hash_tables(names.starts, names.ids, codes, due, options.tables));
  return writes;
}

}  // namespace antichain::hashing
