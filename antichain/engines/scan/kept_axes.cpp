#include "antichain/engines/scan/kept_axes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>

#include "antichain/autodiff/walk.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::scan {

namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

// Returns how many leading axes of an op's outputs take what they are from the same place of an
// input.
using Limit = std::function<int(Op op, int input)>;

int equal_prefix(const Dims& a, const Dims& b) {
  const auto [end, unused] = std::ranges::mismatch(a, b);
  return static_cast<int>(end - a.begin());
}

// Axes that keep their sizes, where repeating and cutting change them.
int same_sizes(Op op, int input) {
  const Dims &from = op.input(input).shape(), &to = op.output().shape();
  return from.size() == to.size() ? equal_prefix(from, to) : 0;
}

int reshape_limit(Op op, int) { return equal_prefix(op.input(0).shape(), op.output().shape()); }

int matmul_limit(Op op, int input) {
  const int rank = op.input(input).rank();
  const int matrix_axes = input == 0 && !op.attrs().get<bool>("transpose_a") ? 1 : 2;
  if (rank != op.output().rank()) {
    return 0;
  }
  return std::min(rank - matrix_axes, same_sizes(op, input));
}

int smallest_axis(const Ints& axes, int rank) {
  std::int64_t smallest = rank;
  for (const std::int64_t axis : axes) {
    smallest = std::min(smallest, axis < 0 ? axis + rank : axis);
  }
  return static_cast<int>(smallest);
}

int reduce_limit(Op op, int) {
  const Ints& axes = op.attrs().get<Ints>("axes");
  return axes.empty() ? 0 : smallest_axis(axes, op.input(0).rank());
}

int flip_limit(Op op, int) {
  return smallest_axis(op.attrs().get<Ints>("axes"), op.input(0).rank());
}

int axis_limit(Op op, int) {
  return smallest_axis({op.attrs().get<std::int64_t>("axis")},
                       std::max(op.input(0).rank(), op.output().rank()));
}

int transpose_limit(Op op, int) {
  const Ints& permutation = op.attrs().get<Ints>("permutation");
  int kept = 0;
  while (kept < static_cast<int>(permutation.size()) &&
         permutation[static_cast<std::size_t>(kept)] == kept) {
    ++kept;
  }
  return kept;
}

int last_axis_limit(Op op, int) { return op.output().rank() - 1; }

int layer_norm_limit(Op op, int input) {
  const auto axes = static_cast<int>(op.attrs().get<std::int64_t>("axes"));
  return input == 0 ? op.output().rank() - axes : 0;
}

// Images: the first axis counts them.
int image_limit(Op, int input) { return input == 0 ? 1 : 0; }

}  // namespace

int axes_kept_by(Op op, int input) {
  static const std::unordered_map<const OpDef*, Limit> limits = [] {
    std::unordered_map<const OpDef*, Limit> all = {
        {&matmul_def(), matmul_limit},
        {&reshape_def(), reshape_limit},
        {&broadcast_to_def(), same_sizes},
        {&sum_to_def(), same_sizes},
        {&slice_def(), same_sizes},
        {&set_slice_def(), same_sizes},
        {&pad_def(), same_sizes},
        {&transpose_def(), transpose_limit},
        {&concat_def(), axis_limit},
        {&stack_def(), axis_limit},
        {&split_def(), axis_limit},
        {&flip_def(), flip_limit},
        {&softmax_gradient_def(), last_axis_limit},
    };
    for (const OpDef* reduction : {&sum_def(), &prod_def(), &mean_def(), &reduce_min_def(),
                                   &reduce_max_def(), &logsumexp_def(), &variance_def()}) {
      all.emplace(reduction, reduce_limit);
    }
    for (const char* name : {"softmax", "log_softmax", "cumsum"}) {
      all.emplace(&find_op(name), axis_limit);
    }
    for (const char* name :
         {"conv", "conv_transpose", "max_pool", "avg_pool", "batch_norm_inference"}) {
      all.emplace(&find_op(name), image_limit);
    }
    all.emplace(&find_op("layer_norm"), layer_norm_limit);
    return all;
  }();
  if (is_elementwise(op.def())) {
    return same_sizes(op, input);
  }
  const auto found = limits.find(&op.def());
  return found == limits.end() ? 0 : found->second(op, input);
}

int kept_axes(Graph& graph, RegionId region, const std::vector<Var>& params,
              const std::vector<Var>& results) {
  std::unordered_map<VarId, int> kept;  // of the values that depend on the parameters
  int least = kNoLimit;
  for (Var param : params) {
    kept[param.id()] = param.rank();
    least = std::min({least, param.rank(), equal_prefix(param.shape(), params[0].shape())});
  }
  for (Op op : schedule_region(graph, region)) {
    int own = kNoLimit;
    for (int i = 0; i < op.num_inputs(); ++i) {
      if (const auto found = kept.find(op.input(i).id()); found != kept.end()) {
        own = std::min({own, found->second, axes_kept_by(op, i)});
      }
    }
    if (own != kNoLimit && has_derivative(op.def())) {
      for (Var output : op.outputs()) {
        if (is_float(output.dtype())) {
          kept[output.id()] = std::min(own, output.rank());
        }
      }
    }
  }
  for (Var result : results) {
    if (const auto found = kept.find(result.id()); found != kept.end()) {
      least = std::min(least, found->second);
    }
  }
  return least;
}

}  // namespace antichain::scan
