#include "antichain/passes/simplify/row_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/row_squares.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/passes/simplify/zero_values.h"

namespace antichain {

namespace {

constexpr std::size_t kMostLookups = 64;  // of one table; more stay as they are

bool reads_rows(Op op) {
  return takes_all_rows(op) || (&op.def() == &sum_row_squares_def() && op.num_inputs() == 1);
}

// A reshape to the shape that the value has: gradients are brought to the shapes of their inputs.
bool is_same_shape(Op op) {
  return &op.def() == &reshape_def() && op.input(0).shape() == op.output().shape();
}

// The lookups that a gradient consists of, in the source.
class Lookups {
 public:
  /// Returns whether it consists of lookups alone.
  bool find(Var gradient) {
    if (!is_free_value(gradient)) {
      return false;
    }
    const Op op = gradient.producer();
    if (made_by(gradient, cast_def()) && is_float(op.input(0).dtype())) {
      return find(op.input(0));
    }
    if (made_by(gradient, add_def())) {
      return op.input(0).shape() == gradient.shape() && op.input(1).shape() == gradient.shape() &&
             find(op.input(0)) && find(op.input(1));
    }
    if (is_same_shape(op)) {
      return find(op.input(0));
    }
    if (&op.def() == &csr_matmul_def() && op.attrs().get<bool>("transposed")) {
      return add_list(op.input(1));
    }
    if (&op.def() != &scatter_add_def() ||
        normalize_axis(op.attrs().get<std::int64_t>("axis"), gradient.rank(), "axis") != 0) {
      return false;
    }
    return add_list(op.input(1)) && (is_all_zero(op.input(0)) || find(op.input(0)));
  }
  const std::vector<Var>& indices() const { return found_; }

 private:
  bool add_list(Var list) {
    if (std::ranges::find(found_, list) == found_.end()) {
      found_.push_back(list);
    }
    return found_.size() <= kMostLookups;
  }

  static bool is_free_value(Var value) {
    return !value.graph().is_region_param(value) && value.rank() > 0 &&
           value.producer().control_edges().empty();
  }

  std::vector<Var> found_;
};

// A gradient on the rows that were looked up, in the target.
class LookedUpRows {
 public:
  LookedUpRows(Cloner& cloner, Var gradient, const std::vector<Var>& indices)
      : cloner_(cloner),
        graph_(cloner.target()),
        as_listed_(indices.size() == 1 && are_common_units(indices[0])) {
    if (as_listed_) {
      ids_ = cast(cloner(indices[0]), DType::i64);
      slots_[indices[0].id().value] = iota(graph_, DType::i64, ids_.dim(0));
      rows_ = on_rows(gradient);
      return;
    }
    std::vector<Var> lists;
    Dims counts;
    for (Var list : indices) {
      const Var ids = cloner(list);
      counts.push_back(numel(ids.shape()));
      lists.push_back(cast(reshape(ids, {counts.back()}), DType::i64));
    }
    const Var all = lists.size() == 1 ? lists[0] : concat(lists, 0);
    const Dim rows = cloner.renamed(gradient.shape())[0];
    const UniqueIndices unique = unique_indices(all, rows);
    ids_ = unique.indices;
    const std::vector<Var> slots =
        lists.size() == 1 ? std::vector<Var>{unique.slots} : split(unique.slots, counts, 0);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      slots_[indices[i].id().value] = slots[i];
    }
    rows_ = on_rows(gradient);
  }

  Var rows() const { return rows_; }
  Var ids() const { return ids_; }

 private:
  Dims shape_on_rows(Var value) const {
    Dims shape = cloner_.renamed(value.shape());
    shape[0] = ids_.dim(0);
    return shape;
  }

  Var on_rows(Var value) {
    const auto known = built_.find(value.id().value);
    if (known != built_.end()) {
      return known->second;
    }
    const Var result = built(value);
    built_.emplace(value.id().value, result);
    return result;
  }

  Var built(Var value) {
    const Op op = value.producer();
    if (made_by(value, cast_def())) {
      return cast(on_rows(op.input(0)), value.dtype());
    }
    if (made_by(value, add_def())) {
      return on_rows(op.input(0)) + on_rows(op.input(1));
    }
    if (is_same_shape(op)) {
      return on_rows(op.input(0));
    }
    if (made_by(value, csr_matmul_def())) {
      const Csr sparse{.values = cloner_(op.input(0)),
                       .columns = slots_.at(op.input(1).id().value),
                       .row_starts = cast(cloner_(op.input(2)), DType::i64),
                       .num_columns = ids_.dim(0)};
      return csr_matmul(sparse, cloner_(op.input(3)), /*transposed=*/true);
    }
    const Var start = is_all_zero(op.input(0)) ? zeros(graph_, value.dtype(), shape_on_rows(value))
                                               : on_rows(op.input(0));
    const Var slots = slots_.at(op.input(1).id().value);
    Dims shape = shape_on_rows(value);
    shape[0] = slots.dim(0);
    const Var added = reshape(cloner_(op.input(2)), shape);
    return !as_listed_                ? scatter_add(start, slots, added)
           : is_all_zero(op.input(0)) ? added
                                      : start + added;
  }

  Cloner& cloner_;
  Graph& graph_;
  bool as_listed_;  // rows are those of the list, in which no row comes twice
  Var ids_, rows_;
  std::unordered_map<std::uint32_t, Var> slots_;  // of every list of indices
  std::unordered_map<std::uint32_t, Var> built_;
};

// A table with fewer rows than are looked up is better left whole.
bool pays_on_rows(Var gradient, const std::vector<Var>& indices) {
  Dim count = 0;
  for (Var list : indices) {
    count = count + numel(list.shape());
  }
  return (gradient.dim(0) - count).range().max > 0;
}

void copy_on_rows(Cloner& cloner, Op op, const LookedUpRows& form) {
  const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
  std::vector<Var> inputs = cloner(op.inputs());
  inputs[0] = form.rows();
  if (takes_all_rows(op)) {
    inputs.push_back(form.ids());
  }
  const Op copy = cloner.copy_with(op, inputs, op.attrs());
  cloner.map(op.output(), copy.output());
  if (op.output().has_name() && !copy.output().has_name()) {
    cloner.target().set_name(copy.output(), op.output().name());
  }
}

// The op with a body that a gradient, or a part of a sum that it is, comes from; none.
Op region_op_of(Var gradient) {
  std::vector<Var> parts = {gradient};
  while (!parts.empty()) {
    const Var part = parts.back();
    parts.pop_back();
    if (part.graph().is_region_param(part)) {
      continue;
    }
    const Op op = part.producer();
    if (!op.regions().empty()) {
      return op;
    }
    if (made_by(part, cast_def()) || made_by(part, add_def()) || is_same_shape(op) ||
        made_by(part, scatter_add_def())) {
      for (Var input : op.inputs()) {
        if (input.shape() == part.shape()) {
          parts.push_back(input);
        }
      }
    }
  }
  return {};
}

}  // namespace

GraphCopy row_gradients(const GraphCopy& source) {
  return copy_graph(
      source, {.copy_ops = [](Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
        for (Op op : ops) {
          Lookups lookups;
          if (reads_rows(op) && lookups.find(op.input(0)) &&
              pays_on_rows(op.input(0), lookups.indices())) {
            const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
            copy_on_rows(cloner, op, LookedUpRows(cloner, op.input(0), lookups.indices()));
          } else {
            cloner.copy(op);
          }
        }
      }});
}

std::vector<std::string> row_gradients_of_chains(std::span<const Op> updates) {
  std::vector<std::string> sentences;
  for (Op update : updates) {
    const Op adds_up = takes_all_rows(update) ? region_op_of(update.input(0)) : Op();
    if (adds_up.valid()) {
      sentences.push_back(fmt::format(
          "'{}' has lazy rows, but its gradient is as long as the table: it is used inside of the "
          "{} at {}:{}; look its rows up before it",
          updated_states(update.attrs())[0][0], adds_up.def().name, adds_up.location().file_name(),
          adds_up.location().line()));
    }
  }
  return sentences;
}

bool has_row_readers(Graph& graph) { return has_op(graph, reads_rows); }

}  // namespace antichain
