#include "antichain/engines/multigrid/kept_guess.h"

#include <algorithm>

#include "antichain/engines/multigrid/own_states.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::multigrid {

namespace {

int num_states(Op chain) { return ChainLayout(chain).states; }

std::int64_t num_intervals(Op chain, const SolveOptions& options) {
  const Dim length = chain.attrs().get<Dim>("length");
  require(length.is_constant(),
          "engine 'multigrid': guess={} keeps the states of a chain, whose {} steps are not known "
          "when it is compiled",
          name(options.guess), length.str());
  return length.constant() / options.coarsening;
}

// States have sizes that are known when a step is compiled: those that most runs will have.
Dims known_sizes(const Dims& shape, const SolveOptions& options) {
  Dims known;
  for (const Dim dim : shape) {
    const std::optional<std::int64_t> size = dim.expected();
    require(size.has_value(),
            "engine 'multigrid': guess={} keeps states of shape {}, and {} is not known when they "
            "are compiled: declare inputs with fixed sizes, or call expect_sizes",
            name(options.guess), to_string(shape), dim.str());
    known.emplace_back(*size);
  }
  return known;
}

// A value with the sizes of another one: its first elements, zeros behind them.
Var fitted(Var value, const Dims& shape) {
  std::vector<SliceRange> first;
  Dims before, after;
  bool is_padded = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Dim own = value.dim(static_cast<int>(axis));
    before.emplace_back(0);
    after.emplace_back(0);
    if (own == shape[axis]) {
      continue;
    }
    const Dim kept = min(own, shape[axis]);
    first.push_back({.axis = static_cast<std::int64_t>(axis), .start = 0, .stop = kept});
    after.back() = shape[axis] - kept;
    is_padded = true;
  }
  return is_padded ? pad(slice(value, first), before, after) : value;
}

Dims with_front_axis(Dim front, const Dims& shape) {
  Dims all = {front};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

// [batch, intervals, rest...] from [intervals, shape...] with the batch at `axis` of the shape, or
// the other way round.
Var examples_first(Var ends, int axis) {
  std::vector<std::int64_t> order = {1 + axis, 0};
  for (int i = 0; i < ends.rank() - 1; ++i) {
    if (i != axis) {
      order.push_back(1 + i);
    }
  }
  return transpose(ends, order);
}
Var intervals_first(Var by_example, int axis) {
  std::vector<std::int64_t> order = {1};
  std::int64_t next = 2;
  for (int i = 0; i < by_example.rank() - 1; ++i) {
    order.push_back(i == axis ? 0 : next++);
  }
  return transpose(by_example, order);
}

Var labels_of(Graph& graph, const std::string& name) {
  for (const Op input : graph.inputs()) {
    if (input.output().name() == name) {
      const Var labels = input.output();
      require(is_integer(labels.dtype()) && labels.rank() == 1,
              "engine 'multigrid': labels={} must be an input of one integer for each example",
              name);
      return labels;
    }
  }
  fail<InvalidArgument>("engine 'multigrid': labels={} is no input of the model", name);
}

}  // namespace

bool keeps_guess(const SolveOptions& options) {
  return options.guess == Guess::batch || options.guess == Guess::class_means;
}

GuessMemory guess_memory(Op chain, const SolveOptions& options) {
  GuessMemory memory{.copies = options.guess == Guess::batch ? options.batches : options.classes};
  const std::int64_t intervals = num_intervals(chain, options);
  double bytes = 0;
  for (int i = 0; i < num_states(chain); ++i) {
    const VarType type = chain.input(i).type();
    double size = static_cast<double>(memory.copies * intervals * size_of(type.dtype));
    for (const Dim dim : known_sizes(type.shape, options)) {
      size *= static_cast<double>(dim.constant());
    }
    bytes += size;  // of class means: at most, they have no axis of examples
  }
  constexpr double kMega = 1024 * 1024;
  require(bytes <= static_cast<double>(options.guess_memory) * kMega,
          "engine 'multigrid': guess={} would keep {:.0f} MB of states, for {} of {}, and "
          "guess_memory allows {} MB: coarsen more, or take another guess",
          name(options.guess), bytes / kMega, memory.copies,
          options.guess == Guess::batch ? "batches" : "classes", options.guess_memory);
  memory.bytes = static_cast<std::int64_t>(bytes);
  return memory;
}

std::optional<KeptGuess> KeptGuess::of(Op chain, const SolveOptions& options,
                                       const ForwardContext& context) {
  Graph& graph = chain.graph();
  if (!keeps_guess(options) || !context.keeps_reports || graph.current_region() != kRootRegion) {
    return std::nullopt;
  }
  guess_memory(chain, options);  // throws where there is too little
  KeptGuess guess(chain, options);
  if (options.guess == Guess::batch) {
    guess.read_batch();
  } else {
    guess.read_class_means();
  }
  return guess;
}

Dims KeptGuess::shape_of_ends(int state) const {
  return with_front_axis(num_intervals(chain_, options_), chain_.input(state).shape());
}

void KeptGuess::read_batch() {
  Graph& graph = chain_.graph();
  visits_ = buffer(free_state_name(graph, "multigrid_guess_visits"), scalar(graph, i64, 0));
  const Var batch = modulo(visits_, options_.batches);
  for (int i = 0; i < num_states(chain_); ++i) {
    const Dims wanted = shape_of_ends(i);
    const Dims known = known_sizes(wanted, options_);
    const Var all =
        buffer(free_state_name(graph, "multigrid_guess"),
               zeros(graph, chain_.input(i).dtype(), with_front_axis(options_.batches, known)));
    stored_.push_back(all);
    ends_.push_back(fitted(reshape(gather(all, expand_dims(batch, 0)), known), wanted));
  }
  is_known_ = greater_equal(visits_, options_.batches);
}

Vars KeptGuess::writes_of_batch(const Vars& ends) const {
  Graph& graph = chain_.graph();
  const Var batch = modulo(visits_, options_.batches);
  Vars writes;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Var all = stored_[i];
    const Dims known(all.shape().begin() + 1, all.shape().end());
    const Var update = expand_dims(fitted(ends[i], known), 0);
    const Var elsewhere = zeros(graph, i64, {all.rank() - 1});
    writes.push_back(
        assign(graph, state_name(all),
               dynamic_set_slice(all, update, concat({expand_dims(batch, 0), elsewhere}, 0))));
  }
  writes.push_back(assign(graph, state_name(visits_), visits_ + 1));
  return writes;
}

// The axis along which a state has one entry for each label.
int KeptGuess::axis_of_examples(int state) const {
  const Var start = chain_.input(state);
  for (int axis = 0; axis < start.rank(); ++axis) {
    if (start.dim(axis) == labels_.dim(0)) {
      return axis;
    }
  }
  fail<InvalidArgument>(
      "engine 'multigrid': guess=class-means needs states with an axis of examples, and a state of "
      "shape {} has none of {}, the number of labels",
      to_string(start.shape()), labels_.dim(0).str());
}

void KeptGuess::read_class_means() {
  Graph& graph = chain_.graph();
  labels_ = labels_of(graph, options_.labels);
  visits_ =
      buffer(free_state_name(graph, "multigrid_guess_seen"), zeros(graph, i64, {options_.classes}));
  for (int i = 0; i < num_states(chain_); ++i) {
    const Var start = chain_.input(i);
    require(
        is_float(start.dtype()),
        "engine 'multigrid': guess=class-means takes means of states, and a chain has one of {}",
        antichain::name(start.dtype()));
    const int axis = axis_of_examples(i);
    Dims wanted = shape_of_ends(i);
    wanted.erase(wanted.begin() + 1 + axis);
    const Dims known = known_sizes(wanted, options_);
    const Var all = buffer(free_state_name(graph, "multigrid_guess"),
                           zeros(graph, start.dtype(), with_front_axis(options_.classes, known)));
    stored_.push_back(all);
    const Var by_example = fitted(gather(all, labels_), with_front_axis(labels_.dim(0), wanted));
    ends_.push_back(intervals_first(by_example, axis));
  }
  is_known_ = greater(min(gather(visits_, labels_)), 0);
}

// The means of the newest batch in which a class is: weights, and so states, change from step to
// step, and older means are of nets that are no more.
Vars KeptGuess::writes_of_class_means(const Vars& ends) const {
  Graph& graph = chain_.graph();
  const Var counts = sum(one_hot(labels_, options_.classes, f32), {0});
  const Var is_here = greater(counts, 0);
  Vars writes;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Var all = stored_[i];
    Dims shape = all.shape(), one_each(all.shape().size(), 1);
    one_each[0] = options_.classes;
    const DType wide = all.dtype() == f64 ? f64 : f32;
    Var by_example = examples_first(ends[i], axis_of_examples(static_cast<int>(i)));
    shape[0] = by_example.dim(0);
    by_example = cast(fitted(by_example, shape), wide);
    const Var sums = scatter_add(zeros(graph, wide, all.shape()), labels_, by_example);
    const Var means = sums / reshape(cast(maximum(counts, 1), wide), one_each);
    const Var next = select(reshape(is_here, one_each), cast(means, all.dtype()), all);
    writes.push_back(assign(graph, state_name(all), next));
  }
  writes.push_back(assign(graph, state_name(visits_), maximum(visits_, cast(is_here, i64))));
  return writes;
}

// Of the outputs of the chain, which stand in the order of its positions.
Vars KeptGuess::ends_of(const Vars& outputs) const {
  const std::int64_t m = options_.coarsening, intervals = num_intervals(chain_, options_);
  const std::int64_t length = chain_.attrs().get<Dim>("length").constant();
  const bool reverse = chain_.attrs().get<bool>("reverse");
  const auto count = static_cast<std::size_t>(num_states(chain_));
  Vars ends;
  for (std::size_t i = 0; i < count; ++i) {
    const Var last = outputs[i], before = outputs[count + i];
    const Var reached =
        intervals * m == length
            ? last
            : index(before, 0, reverse ? length - 1 - intervals * m : intervals * m);
    Var inside =
        reverse
            ? slice(before, {{.axis = 0,
                              .start = length - 1 - (intervals - 1) * m,
                              .stop = length - m,
                              .step = m}})
            : slice(before, {{.axis = 0, .start = m, .stop = (intervals - 1) * m + 1, .step = m}});
    inside = reverse ? flip(inside, {0}) : inside;
    ends.push_back(concat({inside, expand_dims(reached, 0)}, 0));
  }
  return ends;
}

Vars KeptGuess::kept(const Vars& carriers, const Vars& outputs) const {
  const Vars ends = ends_of(outputs);
  const Vars writes =
      options_.guess == Guess::batch ? writes_of_batch(ends) : writes_of_class_means(ends);
  Vars result;
  for (const Var carrier : carriers) {
    result.push_back(after_writes(carrier, writes));
  }
  return result;
}

}  // namespace antichain::multigrid
