#include "antichain/runtime/step_order.h"

#include <algorithm>
#include <utility>

#include "antichain/graph/id_map.h"

namespace antichain {

namespace {

// Whether a value has so few elements that it does not matter for how long it is kept.
bool is_small(Var var) {
  constexpr std::int64_t kElements = 64;
  std::int64_t elements = 1;
  for (Dim dim : var.shape()) {
    elements *= dim.is_constant() && dim.constant() <= kElements ? dim.constant() : kElements + 1;
  }
  return elements <= kElements;
}

// Whether an op only computes: bodies may print.
bool only_computes(Op op) {
  Graph& graph = op.graph();
  return op.def().effect == Effect::none && std::ranges::all_of(op.regions(), [&](RegionId body) {
           return std::ranges::all_of(graph.region(body).ops, [&](OpId id) {
             return graph.op(id).def().effect == Effect::none && graph.op(id).regions().empty();
           });
         });
}

class StepOrder {
 public:
  explicit StepOrder(std::vector<Op> ops) : ops_(std::move(ops)) {
    for (std::size_t n = 0; n < ops_.size(); ++n) {
      position_[ops_[n].id()] = n;
    }
    find_readers();
  }

  std::vector<Op> ordered() {
    for (std::size_t n = 0; n < ops_.size(); ++n) {
      place_.push_back(place_of(n));
    }
    // Ops that have moved come behind the one that was at their new place before.
    std::vector<std::size_t> order(ops_.size());
    for (std::size_t n = 0; n < order.size(); ++n) {
      order[n] = n;
    }
    std::ranges::stable_sort(
        order, {}, [this](std::size_t n) { return std::pair(place_[n], place_[n] != n); });
    std::vector<Op> result;
    result.reserve(order.size());
    for (std::size_t n : order) {
      result.push_back(ops_[n]);
    }
    return result;
  }

 private:
  // Calls visit(m) for the position m of every op whose outputs op n reads.
  template <class Visit>
  void for_each_source(std::size_t n, Visit&& visit) const {
    for (int i = 0; i < ops_[n].num_inputs(); ++i) {
      if (const Var input = ops_[n].input(i); !input.graph().is_region_param(input)) {
        visit_op(input.producer().id(), visit);
      }
    }
  }
  // Likewise of every op that must run before op n.
  template <class Visit>
  void for_each_dependency(std::size_t n, Visit&& visit) const {
    for_each_source(n, visit);
    for (const ControlEdge& edge : ops_[n].control_edges()) {
      visit_op(edge.before, visit);
    }
    for (Op finder : ops_[n].graph().size_finders(ops_[n])) {
      visit_op(finder.id(), visit);
    }
  }
  template <class Visit>
  void visit_op(OpId id, Visit&& visit) const {
    if (const std::size_t at = position_(id); at != kNone) {
      visit(at);
    }
  }

  bool writes(std::size_t n) const { return ops_[n].def().effect == Effect::writes_state; }

  void find_readers() {
    last_reader_.assign(ops_.size(), 0);
    first_dependent_.assign(ops_.size(), ops_.size());
    for (std::size_t n = ops_.size(); n-- > 0;) {
      for_each_dependency(n, [&](std::size_t m) { first_dependent_[m] = n; });
      if (writes(n)) {
        continue;  // it reads what it replaces, or moves forward itself
      }
      const std::size_t reach = ops_[n].def().view ? std::max(n, last_reader_[n]) : n;
      for_each_source(n,
                      [&](std::size_t m) { last_reader_[m] = std::max(last_reader_[m], reach); });
    }
  }

  std::size_t place_of(std::size_t n) const {
    const Effect effect = ops_[n].def().effect;
    const std::vector<Var> outputs = ops_[n].outputs();
    const bool few_numbers = only_computes(ops_[n]) && std::ranges::all_of(outputs, is_small);
    if (!writes(n) && !few_numbers && effect != Effect::reads_state) {
      return n;
    }
    std::size_t place = 0;
    for_each_dependency(n, [&](std::size_t m) { place = std::max(place, place_[m]); });
    for (const ControlEdge& edge : ops_[n].control_edges()) {
      if (writes(n)) {
        visit_op(edge.before, [&](std::size_t m) { place = std::max(place, last_reader_[m]); });
      }
    }
    return place < first_dependent_[n] ? place : n;
  }

  std::vector<Op> ops_;
  static constexpr std::size_t kNone = ~std::size_t{0};
  IdMap<OpId, std::size_t> position_{kNone};
  // By position: the last reader of what an op makes, views included, and the first op that must
  // come after it.
  std::vector<std::size_t> last_reader_, first_dependent_;
  std::vector<std::size_t> place_;  // by old position, where an op goes
};

}  // namespace

std::vector<Op> order_steps(std::vector<Op> ops) { return StepOrder(std::move(ops)).ordered(); }

}  // namespace antichain
