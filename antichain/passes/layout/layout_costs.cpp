#include "antichain/passes/layout/layout_costs.h"

#include <algorithm>
#include <cmath>

#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/passes/fusion/min_cut.h"

namespace antichain {

namespace {

// An element-wise op computes in the layout of its operands; those with fewer axes are repeated.
std::optional<ChannelsLast> elementwise_with_channels_last(Op op) {
  const int rank = op.output().rank();
  if (rank < kFewestMovedAxes) {
    return std::nullopt;
  }
  ChannelsLast last{{}, {0}, op.attrs()};
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (op.input(i).rank() == rank) {
      last.inputs.push_back(i);
    }
  }
  return last;
}

std::optional<ChannelsLast> with_channels_last(Op op) {
  if (op.def().channels_last) {
    return op.def().channels_last(op);
  }
  return is_elementwise(op.def()) ? elementwise_with_channels_last(op) : std::nullopt;
}

std::int64_t bytes_of(Var value) {
  auto bytes = static_cast<std::int64_t>(size_of(value.dtype()));
  for (Dim dim : value.shape()) {
    bytes *= dim.is_constant() ? dim.constant() : 1;
  }
  return bytes;
}

// What a copy of a value in the other layout costs; a little where it is only seen as another
// shape, so that nothing is changed for nothing.
std::int64_t copy_cost(Var value) {
  return moves_elements(value.shape()) ? std::max<std::int64_t>(bytes_of(value), 1) : 1;
}

// Who makes and who reads a value: nodes of the cut. The second side stands for all that keeps its
// layout.
struct Users {
  Var value;
  std::size_t maker;
  std::vector<std::size_t> readers;
};

class LayoutCut {
 public:
  LayoutCut(std::span<const Op> ops, std::span<const Var> results, const LayoutGain& gain) {
    for (Op op : ops) {
      if (std::optional<ChannelsLast> last = with_channels_last(op)) {
        add(op, std::move(*last), gain);
      }
    }
    for (Op op : ops) {
      for (int i = 0; i < op.num_inputs(); ++i) {
        add_reader(op.input(i), reader_of(op, i));
      }
    }
    for (Var result : results) {
      add_reader(result, kept_);
    }
  }

  ChosenLayouts solve() {
    if (!gains_) {
      return {};
    }
    for (const auto& [id, users] : users_) {
      add_copies(users);
    }
    const std::vector<bool> is_last = cut_.first_side(last_, kept_);
    std::erase_if(able_, [&](const auto& op) { return !is_last[nodes_.at(op.first)]; });
    return std::move(able_);
  }

 private:
  void add(Op op, ChannelsLast last, const LayoutGain& gain) {
    const std::size_t node = cut_.add_node();
    double bytes = 0;
    for (int i : last.inputs) {
      bytes += static_cast<double>(bytes_of(op.input(i)));
    }
    for (int i : last.outputs) {
      users_[op.output(i).id()] = {op.output(i), node, {}};
      bytes += static_cast<double>(bytes_of(op.output(i)));
    }
    const auto saved = static_cast<std::int64_t>(std::llround(gain(op) * bytes));
    if (saved > 0) {
      cut_.add_cost(last_, node, saved - 1);  // less than it saves: at a draw, all stays as it is
      gains_ = true;
    } else if (saved < 0) {
      cut_.add_cost(node, kept_, -saved);
    }
    nodes_[op.id()] = node;
    able_[op.id()] = std::move(last);
  }

  // The node of an op, where this input is one with channels.
  std::size_t reader_of(Op op, int input) const {
    const auto found = able_.find(op.id());
    const bool moves = found != able_.end() && std::ranges::count(found->second.inputs, input) > 0;
    return moves ? nodes_.at(op.id()) : kept_;
  }

  void add_reader(Var value, std::size_t reader) {
    users_.try_emplace(value.id(), Users{value, kept_, {}}).first->second.readers.push_back(reader);
  }

  // One copy serves all readers on the other side.
  void add_copies(const Users& users) {
    const auto is_kept = [this](std::size_t node) { return node == kept_; };
    if (is_kept(users.maker) && std::ranges::all_of(users.readers, is_kept)) {
      return;
    }
    const std::int64_t cost = copy_cost(users.value);
    const std::size_t read_first = cut_.add_node(), read_last = cut_.add_node();
    cut_.add_cost(users.maker, read_first, cost);
    cut_.add_cost(read_last, users.maker, cost);
    for (const std::size_t reader : users.readers) {
      cut_.add_cost(read_first, reader, MinCut::kNever);
      cut_.add_cost(reader, read_last, MinCut::kNever);
    }
  }

  MinCut cut_;
  std::size_t last_ = cut_.add_node(), kept_ = cut_.add_node();
  ChosenLayouts able_;
  std::unordered_map<OpId, std::size_t> nodes_;
  std::unordered_map<VarId, Users> users_;
  bool gains_ = false;  // whether some op does
};

}  // namespace

ChosenLayouts cheapest_layouts(std::span<const Op> ops, std::span<const Var> results,
                               const LayoutGain& gain) {
  return LayoutCut(ops, results, gain).solve();
}

}  // namespace antichain
