#include "antichain/passes/memory/rematerialise_chains.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/replayed_chain.h"

namespace antichain {

namespace {

using Readers = std::unordered_map<VarId, std::vector<OpId>>;

bool is_chain(Op op) {
  return &op.def() == &chain_def() && op.control_edges().empty() &&
         op.attrs().get<std::int64_t>("slots") == 0;
}

// The one op that reads the stacked states of a chain, if there is one.
Op only_reader(Op chain, const Readers& readers) {
  const ChainLayout layout(chain);
  Op reader;
  for (int i = 0; i < layout.states; ++i) {
    const auto found = readers.find(chain.output(layout.first_before() + i).id());
    for (OpId id : found != readers.end() ? found->second : std::vector<OpId>()) {
      if (!id.valid() || (reader.valid() && reader.id() != id)) {
        return {};
      }
      reader = chain.graph().op(id);
    }
  }
  return reader;
}

// Whether anybody reads the stacked states of a chain.
bool has_readers(Op chain, const Readers& readers) {
  const ChainLayout layout(chain);
  for (int i = 0; i < layout.states; ++i) {
    if (readers.contains(chain.output(layout.first_before() + i).id())) {
      return true;
    }
  }
  return false;
}

// Pairs a chain with its only reader if that walks back along its states.
std::optional<ChainPair> pair_of(Op forward, Op back) {
  if (!back.valid() || !is_chain(back) ||
      back.attrs().get<bool>("reverse") == forward.attrs().get<bool>("reverse") ||
      !(back.attrs().get<Dim>("length") == forward.attrs().get<Dim>("length"))) {
    return std::nullopt;
  }
  const ChainLayout from(forward), layout(back);
  ChainPair pair{forward, back, {}};
  for (int i = 0; i < back.num_inputs(); ++i) {
    int state = -1;
    for (int s = 0; s < from.states; ++s) {
      state = back.input(i) == forward.output(from.first_before() + s) ? s : state;
    }
    const bool is_sequence = i >= layout.first_x() && i < layout.first_captured();
    if (!is_sequence && state >= 0) {
      return std::nullopt;
    }
    if (is_sequence) {
      pair.state_of.push_back(state);
    }
  }
  return pair;
}

// A parameter of a new region: its type, and the parameter of the old one that it stands for, if
// there is one.
struct Param {
  VarType type;
  Var original = {};
};

RegionId build_region(Graph& source, Graph& target, std::span<const Param> params,
                      std::span<const Var> results) {
  Cloner cloner(source, target);
  RegionScope scope(target);
  for (const Param& param : params) {
    const Var copy = scope.param(param.type);
    if (param.original.valid()) {
      cloner.map(param.original, copy);
    }
  }
  for (Op op : schedule(source, results)) {
    cloner.copy(op);
  }
  return scope.finish(cloner(results));
}

// The body of the chain without what it returns beside its states.
RegionId states_only(Graph& source, Graph& target, Op chain) {
  const RegionInfo& body = source.region(chain.regions()[0]);
  std::vector<Param> params;
  for (Var param : source.vars(body.params)) {
    params.push_back({param.type(), param});
  }
  Vars results = source.vars(body.results);
  results.resize(static_cast<std::size_t>(ChainLayout(chain).states));
  return build_region(source, target, params, results);
}

// The body of the way back, which takes the chain's states first among its sequences.
RegionId states_first(Graph& source, Graph& target, const ChainPair& pair) {
  const ChainLayout from(pair.forward), layout(pair.back);
  const RegionInfo& body = source.region(pair.back.regions()[0]);
  const Vars states = source.vars(source.region(pair.forward.regions()[0]).params);
  const Vars old = source.vars(body.params);
  const auto first_slice = static_cast<std::size_t>(1 + layout.states);
  std::vector<Param> params, other;
  for (std::size_t i = 0; i < first_slice; ++i) {
    params.push_back({old[i].type(), old[i]});
  }
  for (int s = 0; s < from.states; ++s) {
    params.push_back({states[static_cast<std::size_t>(1 + s)].type()});
  }
  for (std::size_t i = 0; i < pair.state_of.size(); ++i) {
    const Var slice = old[first_slice + i];
    if (pair.state_of[i] >= 0) {
      params[first_slice + static_cast<std::size_t>(pair.state_of[i])].original = slice;
    } else {
      other.push_back({slice.type(), slice});
    }
  }
  for (std::size_t i = first_slice + pair.state_of.size(); i < old.size(); ++i) {
    other.push_back({old[i].type(), old[i]});
  }
  params.insert(params.end(), other.begin(), other.end());
  return build_region(source, target, params, source.vars(body.results));
}

void copy_forward(Cloner& cloner, Graph& target, Op chain, std::int64_t slots) {
  Attrs attrs = chain.attrs();
  attrs.set("slots", slots);
  const Op copy = target.add(chain_def(), cloner(chain.inputs()), attrs,
                             {cloner.copy_region(chain.regions()[0])}, chain.location());
  for (int i = 0; i < chain.num_outputs(); ++i) {
    cloner.map(chain.output(i), copy.output(i));
  }
}

void copy_back(Cloner& cloner, Graph& target, const ChainPair& pair, std::int64_t slots) {
  Graph& source = pair.forward.graph();
  const ChainLayout from(pair.forward), layout(pair.back);
  ReplayedChain parts{.forward = states_only(source, target, pair.forward),
                      .back = states_first(source, target, pair),
                      .length = pair.length(),
                      .slots = slots,
                      .reverse = pair.forward.attrs().get<bool>("reverse")};
  for (int i = 0; i < from.states; ++i) {
    parts.rows.push_back(cloner(pair.forward.output(from.first_before() + i)));
  }
  for (int i = 0; i < pair.forward.num_inputs(); ++i) {
    Vars& part = i < from.first_x() ? parts.initial
                                    : (i < from.first_captured() ? parts.xs : parts.captured);
    part.push_back(cloner(pair.forward.input(i)));
  }
  for (int i = 0; i < pair.back.num_inputs(); ++i) {
    const int sequence = i - layout.first_x();
    if (sequence >= 0 && sequence < layout.xs &&
        pair.state_of[static_cast<std::size_t>(sequence)] >= 0) {
      continue;
    }
    Vars& part = i < layout.first_x()
                     ? parts.carried
                     : (i < layout.first_captured() ? parts.sequences : parts.back_captured);
    part.push_back(cloner(pair.back.input(i)));
  }
  const Op copy = replayed_chain(target, parts, pair.back.location());
  for (int i = 0; i < layout.states; ++i) {
    cloner.map(pair.back.output(i), copy.output(i));
  }
  for (int i = 0; i < layout.ys; ++i) {
    cloner.map(pair.back.output(layout.first_y() + i), copy.output(layout.states + i));
  }
}

}  // namespace

std::vector<ChainPair> find_chain_pairs(const GraphCopy& program) {
  Graph& graph = *program.graph;
  const std::vector<Op> ops = schedule(graph, program.values, program.ops);
  Readers readers;
  for (Var value : program.values) {
    readers[value.id()].push_back(OpId{});  // the caller
  }
  for (Op op : ops) {
    for (Var input : op.inputs()) {
      readers[input.id()].push_back(op.id());
    }
  }
  std::unordered_set<OpId> taken;
  std::vector<ChainPair> pairs;
  for (Op op : ops) {
    if (!is_chain(op) || taken.contains(op.id())) {
      continue;
    }
    std::optional<ChainPair> pair = pair_of(op, only_reader(op, readers));
    if (pair && !has_readers(pair->back, readers)) {
      taken.insert(pair->back.id());
      pairs.push_back(std::move(*pair));
    }
  }
  return pairs;
}

GraphCopy replay_chains(const GraphCopy& program, std::span<const ChainPair> pairs,
                        std::span<const std::int64_t> slots) {
  const auto replace = [&](Cloner& cloner, Graph& target, Op op) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (op == pairs[i].forward) {
        copy_forward(cloner, target, op, slots[i]);
        return true;
      }
      if (op == pairs[i].back) {
        copy_back(cloner, target, pairs[i], slots[i]);
        return true;
      }
    }
    return false;
  };
  return copy_graph(program, {.copy_ops = [&replace](Cloner& cloner, std::span<const Op> ops,
                                                     std::span<const Var>) {
                      for (Op op : ops) {
                        if (!replace(cloner, cloner.target(), op)) {
                          cloner.copy(op);
                        }
                      }
                    }});
}

}  // namespace antichain
