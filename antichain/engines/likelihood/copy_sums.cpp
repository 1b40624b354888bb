#include "antichain/engines/likelihood/copy_sums.h"

#include <bit>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::likelihood {

namespace {

// Groups of copies in turn, whose sums are joined as the tree says.
class GroupTree {
 public:
  GroupTree(std::int64_t at_once, const Vars& zeros,
            const std::function<Vars(Var numbers)>& of_copies)
      : at_once_(at_once), zeros_(zeros), of_copies_(of_copies) {}

  // Of so many groups from the copy numbered `first` on.
  Vars sums(Var first, std::int64_t groups) const {
    if (groups == 1) {
      return of_copies_(first + all_copies(first.graph(), at_once_));
    }
    const auto left =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(groups - 1)));
    if (2 * left == groups) {
      return both_halves(first, left);
    }
    const Vars of_left = sums(first, left);
    const Var next = after_writes(first, of_left) + left * at_once_;
    return added(of_left, sums(next, groups - left));
  }

 private:
  // Two steps of a chain, so that a tree of any height is as many chains within each other. The
  // first number is carried: what did not depend on the step before would be computed for both at
  // once.
  Vars both_halves(Var first, std::int64_t half) const {
    Vars carried = {first};
    for (Var zero : zeros_) {
      carried.push_back(first.graph().capture(zero));
    }
    const auto one_half = [&](Var, const Vars& states, const Vars&) -> StepResult {
      const Vars before(states.begin() + 1, states.end());
      StepResult step{added(before, sums(states[0], half))};
      step.states.insert(step.states.begin(), states[0] + half * at_once_);
      return step;
    };
    Vars found = chain(carried, {}, one_half, {.length = 2}).last;
    found.erase(found.begin());
    return found;
  }

  static Vars added(const Vars& left, const Vars& right) {
    Vars total;
    for (std::size_t i = 0; i < left.size(); ++i) {
      total.push_back(left[i] + right[i]);
    }
    return total;
  }

  std::int64_t at_once_;
  const Vars& zeros_;
  const std::function<Vars(Var)>& of_copies_;
};

}  // namespace

Var all_copies(Graph& graph, std::int64_t draws) { return iota(graph, DType::i64, draws); }

Var sum_of_copies(Var values) {
  for (std::int64_t count = values.dim(0).constant(); count > 1; count = values.dim(0).constant()) {
    const std::int64_t pairs = count / 2;
    Dims shape = values.shape();
    shape[0] = 2;
    shape.insert(shape.begin(), pairs);
    const Var even = count % 2 == 0 ? values : slice(values, {{.axis = 0, .stop = 2 * pairs}});
    const Var sums = sum(reshape(even, shape), {1});
    values =
        count % 2 == 0 ? sums : concat({sums, slice(values, {{.axis = 0, .start = 2 * pairs}})}, 0);
  }
  return reshape(values, Dims(values.shape().begin() + 1, values.shape().end()));
}

Vars sum_over_copies(Graph& graph, CopySplit split, const Vars& zeros,
                     const std::function<Vars(Var)>& of_copies) {
  if (split.is_whole()) {
    return of_copies(all_copies(graph, split.draws));
  }
  return GroupTree(split.at_once, zeros, of_copies)
      .sums(scalar(graph, DType::i64, 0), split.draws / split.at_once);
}

Vars join_copies(Graph& graph, CopySplit split, const std::function<Vars(Var)>& of_copies,
                 Place place) {
  if (split.is_whole()) {
    return of_copies(all_copies(graph, split.draws));
  }
  const auto one_group = [&](Var, const Vars& first, const Vars&) -> StepResult {
    return {{first[0] + split.at_once}, of_copies(first[0] + all_copies(graph, split.at_once))};
  };
  // The first number is carried, as above.
  Vars found = chain({scalar(graph, DType::i64, 0)}, {}, one_group,
                     {.length = split.draws / split.at_once}, place)
                   .ys;
  for (Var& of_groups : found) {
    Dims shape(of_groups.shape().begin() + 1, of_groups.shape().end());
    shape[0] = split.draws;
    of_groups = reshape(of_groups, shape);
  }
  return found;
}

}  // namespace antichain::likelihood
