#include "antichain/ops/control_flow/chain_reverse.h"

#include <algorithm>

#include "antichain/graph/clone.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

// Which of some values take part, and where they stand in a list of their own.
struct Subset {
  std::vector<std::size_t> members;
  void add_if(bool member, std::size_t index) {
    if (member) {
      members.push_back(index);
    }
  }
};

// Says whether steps do nothing with a matrix but multiply by it from the right, once. The gradient
// of each step is then a product of two of its values, and the sum over steps one product of all of
// them behind each other: faster than as many thin products, each added to a sum.
bool only_multiplied_by(Graph& graph, RegionId region, Var matrix) {
  int uses = 0;
  for (const OpId id : graph.region(region).ops) {
    const Op op = graph.op(id);
    for (int i = 0; i < op.num_inputs(); ++i) {
      if (op.input(i) == matrix) {
        ++uses;
        if (&op.def() != &matmul_def() || i != 1 || op.input(0).rank() != 2 || matrix.rank() != 2 ||
            op.attrs().get<bool>("transpose_a")) {
          return false;
        }
      }
    }
  }
  const Vars results = graph.vars(graph.region(region).results);
  return uses == 1 && std::find(results.begin(), results.end(), matrix) == results.end();
}

// The factors of such a gradient: where their values of all steps are to be found.
struct Factor {
  Var sequence = {};  // what the steps walk over, or none:
  std::size_t y = 0;  // the output of the steps
};
struct SumOfProducts {
  std::size_t captured;
  Factor left, right;
};

// The matrices of all steps below each other.
Var below_each_other(Var stacked) {
  return reshape(stacked, {stacked.dim(0) * stacked.dim(1), stacked.dim(2)});
}

Var plus(Var a, Var b) { return a.valid() && b.valid() ? a + b : (a.valid() ? a : b); }

}  // namespace

Vars reverse_steps(const VjpContext& context, const StepsToReverse& steps) {
  Graph& graph = context.graph();
  const auto num_states = static_cast<std::size_t>(steps.states);
  Subset states, xs, captured, multiplied, ys, befores;
  for (std::size_t i = 0; i < num_states; ++i) {
    const bool moving = is_float(steps.before[i].dtype());
    states.add_if(moving, i);
    befores.add_if(moving && steps.before_grads[i].valid(), i);
  }
  for (std::size_t i = 0; i < steps.xs.size(); ++i) {
    xs.add_if(steps.x_needed[i], i);
  }
  const Vars params = graph.vars(graph.region(steps.region).params);
  for (std::size_t i = 0; i < steps.captured.size(); ++i) {
    const bool factor =
        only_multiplied_by(graph, steps.region, params[1 + num_states + steps.xs.size() + i]);
    captured.add_if(steps.captured_needed[i] && !factor, i);
    multiplied.add_if(steps.captured_needed[i] && factor, i);
  }
  for (std::size_t i = 0; i < steps.y_grads.size(); ++i) {
    ys.add_if(steps.y_grads[i].valid(), i);
  }

  // Carried: gradients of the states, and sums for the captured values.
  Vars carried;
  for (std::size_t i : states.members) {
    carried.push_back(steps.last_grads[i].valid()
                          ? steps.last_grads[i]
                          : context.zeros_like(context.op().output(static_cast<int>(i))));
  }
  for (std::size_t i : captured.members) {
    carried.push_back(context.zeros_like(steps.captured[i]));
  }
  Vars sequences = steps.before;
  sequences.insert(sequences.end(), steps.xs.begin(), steps.xs.end());
  for (std::size_t i : ys.members) {
    sequences.push_back(steps.y_grads[i]);
  }
  for (std::size_t i : befores.members) {
    sequences.push_back(steps.before_grads[i]);
  }

  std::vector<SumOfProducts> products;
  const auto body = [&](Var step, const Vars& carry, const Vars& slices) -> StepResult {
    Vars arguments = {step};
    arguments.insert(arguments.end(), slices.begin(),
                     slices.begin() + static_cast<long>(num_states + steps.xs.size()));
    arguments.insert(arguments.end(), steps.captured.begin(), steps.captured.end());
    const Vars outputs = inline_region(graph, steps.region, arguments);

    Vars output_grads(outputs.size()), wanted;
    for (std::size_t i = 0; i < states.members.size(); ++i) {
      output_grads[states.members[i]] = carry[i];
      wanted.push_back(slices[states.members[i]]);
    }
    std::size_t next = num_states + steps.xs.size();
    for (std::size_t i : ys.members) {
      output_grads[num_states + i] = slices[next++];
    }
    for (std::size_t i : xs.members) {
      wanted.push_back(slices[num_states + i]);
    }
    for (const Subset* some : {&captured, &multiplied}) {
      for (std::size_t i : some->members) {
        wanted.push_back(graph.capture(steps.captured[i]));
      }
    }
    const Vars found = context.walk_back(outputs, output_grads, wanted);

    StepResult result;
    std::size_t at = 0;
    for (std::size_t i = 0; i < states.members.size(); ++i, ++at) {
      const bool has_before = std::find(befores.members.begin(), befores.members.end(),
                                        states.members[i]) != befores.members.end();
      const Var total = plus(found[at], has_before ? slices[next++] : Var());
      result.states.push_back(total.valid() ? total : context.zeros_like(carry[i]));
    }
    for (std::size_t i : xs.members) {
      result.ys.push_back(found[at].valid() ? found[at]
                                            : context.zeros_like(slices[num_states + i]));
      ++at;
    }
    for (std::size_t i = 0; i < captured.members.size(); ++i, ++at) {
      const Var sum = carry[states.members.size() + i];
      result.states.push_back(found[at].valid() ? sum + found[at] : sum);
    }
    const auto factor = [&](Var value) -> Factor {
      const auto slice = std::find(slices.begin(), slices.end(), value);
      if (slice != slices.end()) {
        return {.sequence = sequences[static_cast<std::size_t>(slice - slices.begin())]};
      }
      result.ys.push_back(value);
      return {.y = result.ys.size() - 1};
    };
    for (std::size_t i : multiplied.members) {
      if (const Var product = found[at++]; product.valid()) {
        ensure(made_by(product, matmul_def()) &&
                   product.producer().attrs().get<bool>("transpose_a") &&
                   !product.producer().attrs().get<bool>("transpose_b"),
               "the gradient of a matrix is not a product");
        const Factor left = factor(product.producer().input(0));
        products.push_back({i, left, factor(product.producer().input(1))});
      }
    }
    return result;
  };

  const ChainResult found =
      chain(carried, sequences, body, {.reverse = !steps.reverse, .length = steps.length},
            context.op().location());
  Vars grads(num_states + steps.xs.size() + steps.captured.size());
  for (std::size_t i = 0; i < states.members.size(); ++i) {
    grads[states.members[i]] = found.last[i];
  }
  for (std::size_t i = 0; i < xs.members.size(); ++i) {
    grads[num_states + xs.members[i]] = found.ys[i];
  }
  for (std::size_t i = 0; i < captured.members.size(); ++i) {
    grads[num_states + steps.xs.size() + captured.members[i]] =
        found.last[states.members.size() + i];
  }
  for (const SumOfProducts& sum : products) {
    const auto all = [&](const Factor& factor) {
      return below_each_other(factor.sequence.valid() ? factor.sequence : found.ys[factor.y]);
    };
    grads[num_states + steps.xs.size() + sum.captured] =
        matmul(all(sum.left), all(sum.right), {.transpose_a = true});
  }
  return grads;
}

}  // namespace antichain
