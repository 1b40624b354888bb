#include "antichain/engines/multigrid/grid.h"

#include <algorithm>

#include "antichain/engines/multigrid/wide_states.h"
#include "antichain/graph/clone.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::multigrid {

namespace {

Vars each(const Vars& values, const std::function<Var(Var)>& f) {
  Vars result;
  for (Var value : values) {
    result.push_back(f(value));
  }
  return result;
}

Var first_of(Var value, Dim count) { return slice(value, {{.axis = 0, .stop = count}}); }
Var from(Var value, Dim start) { return slice(value, {{.axis = 0, .start = start}}); }
Var behind(Var first, Var values) { return concat({expand_dims(first, 0), values}, 0); }

Dims with_front(std::initializer_list<Dim> front, const Dims& shape, std::size_t drop) {
  Dims result = front;
  result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(drop), shape.end());
  return result;
}

// A step's states, in the types of those before it, and, behind them, what else it returns; with a
// right-hand side added.
StepResult with_rhs(const Vars& results, const Vars& before, std::span<const Var> rhs) {
  StepResult step;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i >= before.size()) {
      step.ys.push_back(results[i]);
      continue;
    }
    const DType dtype = before[i].dtype();
    const Var after = results[i].dtype() == dtype ? results[i] : cast(results[i], dtype);
    step.states.push_back(rhs.empty() ? after : after + rhs[i]);
  }
  return step;
}

Vars joined(const Vars& a, const Vars& b) {
  Vars all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

Var part(Var value, std::int64_t first, std::int64_t last) {
  return slice(value, {{.axis = 0, .start = first, .stop = last}});
}

// Joins what `f` returns of each group of `count` things, [first, last), along the first axis.
Vars in_groups(std::int64_t count, std::int64_t groups,
               const std::function<Vars(std::int64_t first, std::int64_t last)>& f) {
  std::vector<Vars> parts;
  groups = std::max<std::int64_t>(1, std::min(groups, count));
  for (std::int64_t group = 0; group < groups; ++group) {
    const Vars found = f(count * group / groups, count * (group + 1) / groups);
    parts.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      parts[i].push_back(found[i]);
    }
  }
  Vars joined;
  for (const Vars& values : parts) {
    joined.push_back(concat(values, 0));
  }
  return joined;
}

}  // namespace

Vars Trajectory::after() const {
  Vars result;
  for (std::size_t i = 0; i < before.size(); ++i) {
    result.push_back(from(concat({before[i], expand_dims(last[i], 0)}, 0), 1));
  }
  return result;
}

Grid::Grid(Op chain, CoarseStep coarse, std::int64_t stride, Vars xs, Dim length)
    : chain_(chain),
      coarse_(coarse),
      stride_(stride),
      step_(grid_step(chain, coarse, stride)),
      xs_(std::move(xs)),
      length_(length),
      num_states_(static_cast<std::size_t>(ChainLayout(chain).states)) {}

Grid Grid::finest(Op chain, CoarseStep coarse) {
  Graph& graph = chain.graph();
  const ChainLayout layout(chain);
  const Dim length = chain.attrs().get<Dim>("length");
  Vars xs = {iota(graph, DType::i64, length)};
  for (int i = layout.first_x(); i < layout.first_captured(); ++i) {
    xs.push_back(graph.capture(chain.input(i)));
  }
  if (chain.attrs().get<bool>("reverse")) {
    xs = each(xs, [](Var x) { return flip(x, {0}); });
  }
  return {chain, coarse, 1, xs, length};
}

Grid Grid::coarser(std::int64_t coarsening) const {
  const Dim length = length_ / coarsening;
  const Vars xs = each(xs_, [&](Var x) {
    const Var steps = reshape(first_of(x, length * coarsening),
                              with_front({length, Dim(coarsening)}, x.shape(), 1));
    return takes_means(coarse_) && is_float(x.dtype()) ? mean(steps, {1}) : index(steps, 1, 0);
  });
  return {chain_, coarse_, stride_ * coarsening, xs, length};
}

Trajectory Grid::walk(const Vars& start, const Vars& rhs) const {
  return walk(start, xs_, rhs, length_);
}

Trajectory Grid::walk(const Vars& start, const Vars& xs, const Vars& rhs, Dim length) const {
  const ChainResult found = chain(
      start, joined(xs, rhs),
      [&](Var, const Vars& states, const Vars& slices) { return step(states, slices); },
      {.engine = kBackprop, .length = length}, chain_.location());
  return {found.before, found.last, found.ys};
}

StepResult Grid::step(const Vars& states, std::span<const Var> slices) const {
  const Vars own = as_states(chain_, states);
  Vars arguments = {slices[0]};
  arguments.insert(arguments.end(), own.begin(), own.end());
  arguments.insert(arguments.end(), slices.begin() + 1,
                   slices.begin() + static_cast<long>(xs_.size()));
  arguments.insert(arguments.end(), step_.captured.begin(), step_.captured.end());
  return with_rhs(inline_region(chain_.graph(), step_.region, arguments), states,
                  slices.subspan(xs_.size()));
}

Vars Grid::apply_in_groups(const Vars& before, std::int64_t groups) const {
  return in_groups(length_.constant(), groups, [&](std::int64_t first, std::int64_t last) {
    const auto own = [&](Var value) { return part(value, first, last); };
    return chain(
               Vars{}, joined(each(before, own), each(xs_, own)),
               [&](Var, const Vars&, const Vars& slices) -> StepResult {
                 const Vars states(slices.begin(), slices.begin() + static_cast<long>(num_states_));
                 return {{}, step(states, std::span(slices).subspan(num_states_)).states};
               },
               {.engine = kBackprop, .length = last - first}, chain_.location())
        .ys;
  });
}

Vars Grid::apply(const Vars& before, std::int64_t groups) const {
  if (groups > 0 && length_.is_constant()) {
    return apply_in_groups(before, groups);
  }
  std::vector<Mapped> arguments = {{xs_[0], true}};
  for (Var state : as_states(chain_, before)) {
    arguments.push_back({state, true});
  }
  for (std::size_t i = 1; i < xs_.size(); ++i) {
    arguments.push_back({xs_[i], true});
  }
  for (Var value : step_.captured) {
    arguments.push_back({value, false});
  }
  const std::vector<Mapped> results = vmap_region(chain_.graph(), step_.region, arguments, length_);
  Vars after;
  for (std::size_t i = 0; i < num_states_; ++i) {
    after.push_back(
        with_mapped_axis(results[i], chain_.input(static_cast<int>(i)).shape(), length_));
  }
  return widened(after);
}

CutGrid::CutGrid(Grid grid, std::int64_t coarsening, std::int64_t groups)
    : grid_(std::move(grid)),
      coarsening_(coarsening),
      groups_(groups),
      intervals_(grid_.length() / coarsening),
      inside_(intervals_ * coarsening) {
  xs_ = each(grid_.xs_, [this](Var x) { return in_intervals(x); });
}

Var CutGrid::in_intervals(Var sequence) const {
  return swap_axes(reshape(first_of(sequence, inside_),
                           with_front({intervals_, Dim(coarsening_)}, sequence.shape(), 1)),
                   0, 1);
}

Var CutGrid::in_sequence(Var in_intervals) const {
  return reshape(swap_axes(in_intervals, 0, 1), with_front({inside_}, in_intervals.shape(), 2));
}

Vars CutGrid::rest_of(const Vars& sequences) const {
  return each(sequences, [this](Var sequence) { return from(sequence, inside_); });
}

Vars CutGrid::at_interval_ends(const Vars& after) const {
  return each(after, [this](Var values) {
    return index(reshape(first_of(values, inside_),
                         with_front({intervals_, Dim(coarsening_)}, values.shape(), 1)),
                 1, coarsening_ - 1);
  });
}

Vars CutGrid::begins(const Vars& start, const Vars& ends) const {
  Vars result;
  for (std::size_t i = 0; i < start.size(); ++i) {
    result.push_back(first_of(behind(start[i], ends[i]), intervals_));
  }
  return result;
}

CutGrid::Sweep CutGrid::sweep(const Vars& begins, const Vars& rhs) const {
  const Vars own = grid_.stride_ == 1 ? as_states(grid_.chain_, begins) : begins;
  return groups_ > 0 && intervals_.is_constant() ? sweep_in_groups(own, rhs)
                                                 : sweep_at_once(own, rhs);
}

CutGrid::Sweep CutGrid::sweep_in_groups(const Vars& begins, const Vars& rhs) const {
  const std::size_t states = grid_.num_states_;
  const Vars sequences = joined(grid_.xs_, rhs);
  const Vars all =
      in_groups(intervals_.constant(), groups_, [&](std::int64_t first, std::int64_t last) {
        Vars xs = each(begins, [&](Var value) { return part(value, first, last); });
        for (const Var sequence : sequences) {
          xs.push_back(reshape(part(sequence, first * coarsening_, last * coarsening_),
                               with_front({last - first, coarsening_}, sequence.shape(), 1)));
        }
        const auto interval = [&](Var, const Vars&, const Vars& slices) -> StepResult {
          const auto end_of_states = slices.begin() + static_cast<long>(states);
          const ChainResult found = chain(
              {slices.begin(), end_of_states}, {end_of_states, slices.end()},
              [&](Var, const Vars& now, const Vars& own) { return grid_.step(now, own); },
              {.engine = kBackprop, .length = coarsening_}, grid_.chain_.location());
          return {{}, joined(joined(found.last, found.before), found.ys)};
        };
        return chain(Vars{}, xs, interval, {.engine = kBackprop, .length = last - first},
                     grid_.chain_.location())
            .ys;
      });
  const auto in_order = [this](Var value) {
    return reshape(value, with_front({inside_}, value.shape(), 2));
  };
  const auto from = all.begin(), middle = from + static_cast<long>(states),
             end = middle + static_cast<long>(states);
  return {{from, middle}, each({middle, end}, in_order), each({end, all.end()}, in_order)};
}

CutGrid::Sweep CutGrid::sweep_at_once(const Vars& begins, const Vars& rhs) const {
  const Op op = grid_.chain_;
  Graph& graph = op.graph();
  const RegionInfo& region = graph.region(grid_.step_.region);
  const Vars rhs_in_intervals = each(rhs, [this](Var value) { return in_intervals(value); });
  const ChainResult found = chain(
      begins, joined(xs_, rhs_in_intervals),
      [&](Var, const Vars& states, const Vars& slices) {
        std::vector<Mapped> arguments = {{slices[0], true}};
        for (Var state : as_states(op, states)) {
          arguments.push_back({state, true});
        }
        for (std::size_t i = 1; i < xs_.size(); ++i) {
          arguments.push_back({slices[i], true});
        }
        for (Var value : grid_.step_.captured) {
          arguments.push_back({value, false});
        }
        const std::vector<Mapped> mapped =
            vmap_region(graph, grid_.step_.region, arguments, intervals_);
        Vars results;
        for (std::size_t i = 0; i < mapped.size(); ++i) {
          results.push_back(
              with_mapped_axis(mapped[i], graph.var(region.results[i]).shape(), intervals_));
        }
        return with_rhs(results, states, std::span(slices).subspan(xs_.size()));
      },
      {.engine = kBackprop, .length = coarsening_}, op.location());
  const auto in_order = [this](Var value) { return in_sequence(value); };
  return {found.last, each(found.before, in_order), each(found.ys, in_order)};
}

Vars CutGrid::relax(const Vars& begins, const Vars& rhs) const {
  return widened(sweep(begins, rhs).last);
}

Trajectory CutGrid::relax_to_all(const Vars& begins, const Vars& start, const Vars& rhs) const {
  const Sweep found = sweep(begins, rhs);
  const Vars first = grid_.stride_ == 1 ? as_states(grid_.chain_, start) : start;
  Trajectory all = {found.before, {}, found.ys};
  for (std::size_t i = 0; i < first.size(); ++i) {
    all.last.push_back(index(behind(first[i], found.last[i]), 0, intervals_));
  }
  const Dim rest = grid_.length() - inside_;
  if (rest == Dim(0)) {
    return all;
  }
  const Trajectory more = grid_.walk(all.last, rest_of(grid_.xs_), rest_of(rhs), rest);
  for (std::size_t i = 0; i < all.before.size(); ++i) {
    all.before[i] = concat({all.before[i], more.before[i]}, 0);
  }
  for (std::size_t i = 0; i < all.ys.size(); ++i) {
    all.ys[i] = concat({all.ys[i], more.ys[i]}, 0);
  }
  all.last = more.last;
  return all;
}

}  // namespace antichain::multigrid
