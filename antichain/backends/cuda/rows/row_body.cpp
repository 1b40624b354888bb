#include "antichain/backends/cuda/rows/row_body.h"

#include <algorithm>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::cuda {

RowBody::RowBody(Op fused)
    : graph_(fused.graph()),
      body_(graph_.region(fused.regions()[0])),
      shape_(fused_shape(graph_, fused.regions()[0])),
      contract_(fused.attrs().get<bool>("contract")) {
  for (const OpId id : body_.ops) {
    const Op op = graph_.op(id);
    int round = 0;
    for (Var input : op.inputs()) {
      const auto found = rounds_.find(input.id());
      round = std::max(round, found == rounds_.end() ? 0 : found->second);
    }
    // A value of a row is there after the walk of its round.
    rounds_.emplace(op.output().id(), round + (reduces_rows(op) ? 1 : 0));
    last_round_ = std::max(last_round_, rounds_.at(op.output().id()));
  }
}

bool RowBody::is_number(Op op) const { return &op.def() == &constant_def(); }

bool RowBody::is_of_row(Op op) const {
  return !is_number(op) && (reduces_rows(op) || !(op.output().shape() == shape_.domain));
}

std::size_t RowBody::param_index(VarId value) const {
  return static_cast<std::size_t>(std::ranges::find(body_.params, value) - body_.params.begin());
}

// What the code of an op reads: a sum that is contracted with a product reads its factors.
std::vector<VarId> RowBody::read_by(Op op) const {
  std::vector<VarId> read;
  for (Var input : op.inputs()) {
    read.push_back(input.id());
    if (contract_ && !graph_.is_region_param(input) && &input.producer().def() == &multiply_def()) {
      for (Var factor : input.producer().inputs()) {
        read.push_back(factor.id());
      }
    }
  }
  return read;
}

std::vector<std::size_t> RowBody::row_params() const {
  std::vector<std::size_t> params;
  for (const OpId id : body_.ops) {
    const Op op = graph_.op(id);
    for (Var input : is_of_row(op) && !reduces_rows(op) ? op.inputs() : std::vector<Var>()) {
      const std::size_t param = param_index(input.id());
      if (param < body_.params.size() && std::ranges::find(params, param) == params.end()) {
        params.push_back(param);
      }
    }
  }
  return params;
}

std::vector<std::size_t> RowBody::row_results() const {
  std::vector<std::size_t> results;
  for (std::size_t i = 0; i < body_.results.size(); ++i) {
    if (is_of_row(graph_.var(body_.results[i]).producer())) {
      results.push_back(i);
    }
  }
  return results;
}

bool RowBody::can_split() const {
  return last_round_ == 1 && row_results().size() == body_.results.size();
}

std::size_t RowBody::num_folds() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(body_.ops, [this](OpId id) { return reduces_rows(graph_.op(id)); }));
}

// What a walk is for, without what it computes on the way.
RowWalk RowBody::walk(int round) const {
  RowWalk walk;
  for (const OpId id : body_.ops) {
    const Op op = graph_.op(id);
    const int own = rounds_.at(op.output().id());
    if (reduces_rows(op)) {
      if (own == round + 1) {
        walk.folds.push_back(op);
      }
    } else if (own == round && (is_number(op) || is_of_row(op))) {
      walk.before.push_back(op);
    }
  }
  for (std::size_t i = 0; round == last_round_ && i < body_.results.size(); ++i) {
    if (!is_of_row(graph_.var(body_.results[i]).producer())) {
      walk.results.push_back(i);
    }
  }
  return walk;
}

void RowBody::add_elements(RowWalk& walk, const std::unordered_set<VarId>& computed) const {
  std::unordered_set<VarId> needed;
  for (const Op fold : walk.folds) {
    needed.insert(fold.input(0).id());
  }
  for (const std::size_t result : walk.results) {
    needed.insert(body_.results[result]);
  }
  for (auto id = body_.ops.rbegin(); id != body_.ops.rend(); ++id) {
    const Op op = graph_.op(*id);
    const VarId value = op.output().id();
    if (!needed.contains(value) || is_number(op) || is_of_row(op)) {
      continue;
    }
    // An input as another type is as near as the input itself, which is kept.
    const bool is_cheap = &op.def() == &cast_def() && graph_.is_region_param(op.input(0));
    if (computed.contains(value) && !is_cheap) {
      walk.kept.push_back(value);
      continue;
    }
    walk.ops.push_back(op);
    for (const VarId read : read_by(op)) {
      needed.insert(read);
    }
  }
  std::ranges::reverse(walk.ops);
  for (std::size_t i = 0; i < body_.params.size(); ++i) {
    if (needed.contains(body_.params[i])) {
      walk.params.push_back(i);
    }
  }
}

std::vector<RowWalk> RowBody::walks(bool keep) const {
  std::vector<RowWalk> walks;
  std::unordered_set<VarId> computed;
  for (int round = 0; round <= last_round_; ++round) {
    walks.push_back(walk(round));
    add_elements(walks.back(), computed);
    for (const Op op : keep ? walks.back().ops : std::vector<Op>()) {
      computed.insert(op.output().id());
    }
  }
  return walks;
}

}  // namespace antichain::cuda
