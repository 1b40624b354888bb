#include "antichain/passes/layout/choose_layouts.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/layout/layout_costs.h"

namespace antichain {

namespace {

// Transposes, together with a transpose that is there already.
Var transposed(Var x, Ints order) {
  if (made_by(x, transpose_def())) {
    const Ints& before = x.producer().attrs().get<Ints>("permutation");
    for (std::int64_t& axis : order) {
      axis = before[static_cast<std::size_t>(axis)];
    }
    x = x.producer().input(0);
  }
  return std::ranges::is_sorted(order) ? x : transpose(x, order);
}

Ints axes_in_order(int rank) {
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// [n, c, spatial...] to [n, spatial..., c].
Var to_last(Var x) {
  return moves_elements(x.shape()) ? transposed(x, channels_moved(axes_in_order(x.rank())))
                                   : reshape(x, channels_moved(x.shape()));
}

// And back to a value of this shape.
Var to_first(Var x, const Dims& shape) {
  if (!moves_elements(shape)) {
    return reshape(x, shape);
  }
  Ints order = axes_in_order(x.rank());
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return transposed(x, order);
}

// Copies the ops of one region.
class LayoutCopy {
 public:
  LayoutCopy(Cloner& cloner, const ChosenLayouts& chosen) : cloner_(cloner), chosen_(chosen) {}

  void copy(Op op) {
    const LocationGuard location(cloner_.target(), op.location(), /*force=*/true);
    if (const auto found = chosen_.find(op.id()); found != chosen_.end()) {
      copy_with_channels_last(op, found->second);
      return;
    }
    for (Var input : op.inputs()) {
      first(input);
    }
    cloner_.copy(op);
  }

  // Returns the copy of a value as it was, and makes it what stands for the value.
  Var first(Var original) {
    if (only_last_.erase(original.id()) > 0) {
      const Var copy = to_first(last_.at(original.id()), cloner_.renamed(original.shape()));
      if (original.has_name() && !copy.has_name()) {
        cloner_.target().set_name(copy, original.name());
      }
      cloner_.map(original, copy);
    }
    return cloner_(original);
  }

 private:
  Var last(Var original) {
    const auto found = last_.find(original.id());
    return found != last_.end()
               ? found->second
               : last_.emplace(original.id(), to_last(cloner_(original))).first->second;
  }

  // An operand of fewer axes than the others, with those along which it is repeated.
  Var repeated(Var original, int rank) {
    const Var copy = first(original);
    Dims shape(static_cast<std::size_t>(rank - copy.rank()), Dim(1));
    shape.insert(shape.end(), copy.shape().begin(), copy.shape().end());
    return to_last(reshape(copy, shape));
  }

  void copy_with_channels_last(Op op, const ChannelsLast& how) {
    const bool repeats = is_elementwise(op.def());
    std::vector<Var> inputs;
    for (int i = 0; i < op.num_inputs(); ++i) {
      const Var input = op.input(i);
      if (std::ranges::count(how.inputs, i) > 0) {
        inputs.push_back(last(input));
      } else {
        inputs.push_back(repeats && input.rank() > 0 ? repeated(input, op.output().rank())
                                                     : first(input));
      }
    }
    const Op twin = cloner_.copy_with(op, inputs, how.attrs);
    for (int i = 0; i < op.num_outputs(); ++i) {
      const Var original = op.output(i);
      if (std::ranges::count(how.outputs, i) > 0) {
        last_[original.id()] = twin.output(i);
        only_last_.insert(original.id());
      } else {
        cloner_.map(original, reshape(twin.output(i), cloner_.renamed(original.shape())));
      }
    }
  }

  Cloner& cloner_;
  const ChosenLayouts& chosen_;
  std::unordered_map<VarId, Var> last_;  // originals' copies with channels last
  std::unordered_set<VarId> only_last_;  // those that have no other copy yet
};

}  // namespace

GraphCopy choose_layouts(const GraphCopy& source, const LayoutGain& gain) {
  if (!gain) {
    return copy_graph(source, {});
  }
  return copy_graph(source, {.copy_ops = [&gain](Cloner& cloner, std::span<const Op> ops,
                                                 std::span<const Var> results) {
                      const ChosenLayouts chosen = cheapest_layouts(ops, results, gain);
                      LayoutCopy copy(cloner, chosen);
                      for (Op op : ops) {
                        copy.copy(op);
                      }
                      for (Var result : results) {
                        copy.first(result);
                      }
                    }});
}

}  // namespace antichain
