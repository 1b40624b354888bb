#include "antichain/graph/infer_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/graph/graph.h"

namespace antichain {

const VarType& InferContext::type(int input) const {
  return inputs_[static_cast<std::size_t>(input)].type();
}

void InferContext::require_inputs(int count) const {
  require(num_inputs() == count, "{}: takes {} inputs, got {}", op_name(), count, num_inputs());
}

void InferContext::require_rank(int input, int rank) const {
  if (this->rank(input) != rank) {
    fail<ShapeError>("{}: input {} must have rank {}, got shape {}", op_name(), input, rank,
                     to_string(shape(input)));
  }
}

void InferContext::require_min_rank(int input, int rank) const {
  if (this->rank(input) < rank) {
    fail<ShapeError>("{}: input {} must have rank {} or more, got shape {}", op_name(), input, rank,
                     to_string(shape(input)));
  }
}

void InferContext::require_dtype(int input, DTypeSet accepted) const {
  if (accepted.contains(dtype(input))) {
    return;
  }
  std::string names;
  for (DType member : accepted.members()) {
    names += (names.empty() ? "" : ", ") + std::string(name(member));
  }
  fail<TypeError>("{}: input {} is {}; accepted: {}", op_name(), input, name(dtype(input)), names);
}

DType InferContext::require_same_dtype(int first) const {
  for (int i = first + 1; i < num_inputs(); ++i) {
    require<TypeError>(dtype(i) == dtype(first),
                       "{}: inputs {} and {} have different types, {} and {}; cast one of them",
                       op_name(), first, i, name(dtype(first)), name(dtype(i)));
  }
  return dtype(first);
}

int InferContext::axis(std::string_view name, int rank) const {
  const std::int64_t axis = attrs_.get<std::int64_t>(name);
  require<ShapeError>(axis >= -rank && axis < rank, "{}: {} {} is outside a value of rank {}",
                      op_name(), name, axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> InferContext::axes(std::string_view name, int rank) const {
  std::vector<int> result;
  for (std::int64_t axis : attrs_.get<Ints>(name)) {
    require<ShapeError>(axis >= -rank && axis < rank, "{}: axis {} is outside a value of rank {}",
                        op_name(), axis, rank);
    result.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  if (result.empty()) {
    for (int axis = 0; axis < rank; ++axis) {
      result.push_back(axis);
    }
  }
  std::sort(result.begin(), result.end());
  require<ShapeError>(std::adjacent_find(result.begin(), result.end()) == result.end(),
                      "{}: {} names an axis twice", op_name(), name);
  return result;
}

Dim InferContext::unify(Dim left, Dim right, std::string_view what) {
  if (left == right) {
    return left;
  }
  if (never_equal(left, right)) {
    fail<ShapeError>("{}: {} cannot match: {} and {}", op_name(), what, left.str(), right.str());
  }
  constraints_.push_back({left, right, std::string(what)});
  return right.is_constant() ? right : left;
}

void InferContext::unify(const Dims& left, const Dims& right, std::string_view what) {
  if (left.size() != right.size()) {
    fail<ShapeError>("{}: {} have different ranks: {} and {}", op_name(), what, to_string(left),
                     to_string(right));
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    unify(left[i], right[i], what);
  }
}

Dims InferContext::broadcast(const Dims& left, const Dims& right) {
  const Dims& longer = left.size() >= right.size() ? left : right;
  const Dims& shorter = left.size() >= right.size() ? right : left;
  Dims result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[lead + i];
    if (dim == Dim(1)) {
      dim = shorter[i];
    } else if (!(shorter[i] == Dim(1))) {
      if (never_equal(dim, shorter[i])) {
        fail<ShapeError>("{}: shapes {} and {} do not broadcast", op_name(), to_string(left),
                         to_string(right));
      }
      dim = unify(dim, shorter[i], "broadcast sizes");
    }
  }
  return result;
}

Dim InferContext::fresh_dim(std::string_view prefix, DimRange range) const {
  return graph_.dims().fresh(prefix, range);
}

}  // namespace antichain
