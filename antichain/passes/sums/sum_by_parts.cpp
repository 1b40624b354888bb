#include "antichain/passes/sums/sum_by_parts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/passes/sums/row_sums.h"

namespace antichain {

namespace {

constexpr int kMostParts = 8;

// A concatenation of columns, of which there are few, in many rows.
bool joins_columns(Op op) {
  const Var whole = op.output();
  return &op.def() == &concat_def() && is_free(op) && is_float(whole.dtype()) &&
         normalize_axis(op.attrs().get<std::int64_t>("axis"), whole.rank()) == whole.rank() - 1 &&
         whole.rank() > 1 && op.num_inputs() > 1 && op.num_inputs() <= kMostParts &&
         std::ranges::all_of(op.inputs(), [](Var part) { return is_few(part.dim(-1)); }) &&
         is_few(whole.dim(-1)) && is_many(num_rows(whole));
}

// Which input of a product of two matrices has `whole` for its rows that are added up; -1: neither.
int multiplied_input(Op op, Var whole) {
  if (!is_narrow_product(op)) {
    return -1;
  }
  const int side = op.input(0) == whole ? 0 : 1;
  const bool transposed = op.attrs().get<bool>(side == 0 ? "transpose_a" : "transpose_b");
  return transposed == (side == 0) ? side : -1;
}

class SumsOfParts {
 public:
  SumsOfParts(std::span<const Op> ops, std::span<const Var> results) {
    for (Var result : results) {
      returned_.insert(result.id());
    }
    for (Op op : ops) {
      for (Var input : op.inputs()) {
        readers_[input.id()].push_back(op);
      }
      for (const ControlEdge& edge : op.control_edges()) {
        waited_for_.insert(edge.before);
      }
    }
    for (Op op : ops) {
      if (joins_columns(op)) {
        add_readers(op);
      }
    }
  }

  // The concatenation whose rows an op adds up part by part; none: it stays as it is.
  Op joined_by(Op reader) const {
    const auto found = joined_.find(reader.id());
    return found == joined_.end() ? Op() : found->second;
  }

 private:
  void add_readers(Op concat) {
    std::vector<Op> sums;
    if (find_sums(concat.output(), sums)) {
      for (Op sum : sums) {
        joined_.emplace(sum.id(), concat);
      }
    }
  }

  // Whether all who read a value add up its rows.
  bool find_sums(Var value, std::vector<Op>& sums) const {
    const auto found = readers_.find(value.id());
    if (returned_.contains(value.id()) || found == readers_.end()) {
      return false;
    }
    return std::ranges::all_of(found->second, [&](Op reader) {
      if (&reader.def() == &reshape_def()) {
        const Var rows = reader.output();
        return is_free(reader) && rows.rank() == 2 && rows.dim(1) == value.dim(-1) &&
               find_sums(rows, sums);
      }
      sums.push_back(reader);
      return !joined_.contains(reader.id()) && !waited_for_.contains(reader.id()) &&
             (is_sum_of_rows(reader) || multiplied_input(reader, value) >= 0);
    });
  }

  std::unordered_set<VarId> returned_;
  std::unordered_map<VarId, std::vector<Op>> readers_;
  std::unordered_set<OpId> waited_for_;
  std::unordered_map<OpId, Op> joined_;
};

// Takes the place of an op that adds up the rows of a concatenation.
Var sum_parts(Cloner& cloner, Op reader, Op concat) {
  const bool is_product = &reader.def() == &matmul_def();
  const auto is_whole = [&](Var input) {
    return input == concat.output() ||
           (made_by(input, reshape_def()) && input.producer().input(0) == concat.output());
  };
  const std::size_t side = is_whole(reader.input(0)) ? 0 : 1;
  const bool as_rows = !(reader.input(static_cast<int>(side)) == concat.output());
  Vars sums;
  for (Var part : cloner(concat.inputs())) {
    Vars inputs = reader.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = i != side ? cloner(inputs[i])
                            : (as_rows ? reshape(part, {num_rows(part), part.dim(-1)}) : part);
    }
    Attrs attrs = reader.attrs();
    if (&reader.def() == &sum_to_def()) {
      Dims shape = attrs.get<Dims>("shape");
      shape.back() = part.dim(-1);
      attrs.set("shape", shape);
    }
    sums.push_back(
        cloner.target().add(reader.def(), inputs, attrs, {}, reader.location()).output());
  }
  return antichain::concat(sums, is_product && side == 0 ? 0 : -1, reader.location());
}

void copy_summing_parts(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results) {
  const SumsOfParts found(ops, results);
  for (Op op : ops) {
    if (const Op concat = found.joined_by(op); concat.valid()) {
      const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
      cloner.map(op.output(), sum_parts(cloner, op, concat));
    } else {
      cloner.copy(op);
    }
  }
}

}  // namespace

GraphCopy sum_by_parts(const GraphCopy& source) {
  return has_op(*source.graph, joins_columns) ? copy_graph(source, {.copy_ops = copy_summing_parts})
                                              : copy_graph(source, CopyRules{});
}

}  // namespace antichain
