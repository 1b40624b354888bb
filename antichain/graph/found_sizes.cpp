// Sizes that only a run tells: which op finds them out, and who needs it for them.
#include <algorithm>

#include "antichain/graph/graph.h"

namespace antichain {

namespace {

void collect(const Dims& dims, std::vector<std::uint32_t>& symbols) {
  for (Dim dim : dims) {
    dim.collect_symbols(symbols);
  }
}

void collect(const Attrs& attrs, std::vector<std::uint32_t>& symbols) {
  for (const auto& entry : attrs.entries()) {
    if (const auto* dim = std::get_if<Dim>(&entry.second)) {
      dim->collect_symbols(symbols);
    } else if (const auto* dims = std::get_if<Dims>(&entry.second)) {
      collect(*dims, symbols);
    }
  }
}

// The op's own dims and those of everything in its regions.
void collect(Graph& graph, Op op, std::vector<std::uint32_t>& symbols) {
  collect(op.attrs(), symbols);
  for (Var output : op.outputs()) {
    collect(output.shape(), symbols);
  }
  for (const DimConstraint& constraint : graph.constraints(op)) {
    collect({constraint.left, constraint.right}, symbols);
  }
  for (RegionId region : op.regions()) {
    for (OpId inner : graph.region(region).ops) {
      collect(graph, graph.op(inner), symbols);
    }
  }
}

}  // namespace

// The symbols that stand for sizes in the op's outputs and in none of its inputs.
void Graph::note_found_sizes(Op op) {
  std::vector<std::uint32_t> known, found;
  for (Var input : op.inputs()) {
    collect(input.shape(), known);
  }
  for (Var output : op.outputs()) {
    collect(output.shape(), found);
    if (output.type().value) {
      collect(*output.type().value, found);
    }
  }
  for (std::uint32_t symbol : found) {
    const bool is_known = std::find(known.begin(), known.end(), symbol) != known.end();
    if (!is_known && size_finders_.try_emplace(symbol, op.id()).second) {
      found_sizes_[op.id()].push_back(symbol);
    }
  }
}

const std::vector<std::uint32_t>& Graph::found_sizes(Op op) const {
  static const std::vector<std::uint32_t> kNone;
  const auto entry = found_sizes_.find(op.id());
  return entry == found_sizes_.end() ? kNone : entry->second;
}

std::vector<Op> Graph::size_finders(Op op) {
  std::vector<Op> finders;
  if (size_finders_.empty()) {
    return finders;
  }
  std::vector<std::uint32_t> symbols;
  collect(*this, op, symbols);
  for (std::uint32_t symbol : symbols) {
    const auto entry = size_finders_.find(symbol);
    if (entry != size_finders_.end() && entry->second != op.id() &&
        ops_[entry->second.value].region == ops_[op.id().value].region) {
      finders.push_back(this->op(entry->second));
    }
  }
  return finders;
}

}  // namespace antichain
