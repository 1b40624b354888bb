#include "antichain/backends/cpu/rows/fused_rows.h"

#include <algorithm>
#include <utility>

#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kRowBlockBytes = 64 * 1024;  // that inputs, outputs and kept values may take

}  // namespace

FusedRows::FusedRows(const KernelContext& context, const FusedSteps& steps)
    : numbers_(steps.numbers) {
  const FusedShape shape = fused_shape(context.op.graph(), context.op.regions()[0]);
  const std::size_t first_axis = shape.domain.size() - shape.row_axes();
  domain_ = rows_shape_ = evaluate(shape.domain, *context.env);
  std::vector<bool> reduced(domain_.size(), false);
  for (std::size_t axis = 0; axis < domain_.size(); ++axis) {
    reduced[axis] = axis >= first_axis;
    (reduced[axis] ? row_ : rows_) *= domain_[axis];
    rows_shape_[axis] = reduced[axis] ? 1 : domain_[axis];
  }
  cut_.emplace(domain_, reduced, sizeof(float));

  std::vector<bool> is_packed;
  const auto add_input = [&](const Tensor& tensor) {
    new_value(
        {.home = Home::input, .dtype = tensor.dtype(), .index = static_cast<int>(inputs_.size())});
    inputs_.push_back({tensor.dtype(), tensor.shape(), tensor.strides()});
    is_packed.push_back(tensor.is_contiguous());
  };
  for (const Tensor* input : context.inputs) {
    add_input(*input);
  }
  std::ranges::for_each(numbers_, add_input);
  for (const PieceStep& step : steps.steps) {
    for (const PieceStep::Result& result : step.results) {
      // An output that nobody wants has no memory.
      const bool wanted =
          result.output >= 0 && context.wanted[static_cast<std::size_t>(result.output)] != 0;
      new_value({.home = wanted ? Home::output : Home::loops,
                 .of_rows = kind_of(step.section) != Section::domain,
                 .dtype = result.dtype,
                 .index = result.output,
                 .made = step.section,
                 .read = step.section});
    }
  }
  rounds_.resize(static_cast<std::size_t>(steps.steps.back().section / 3 + 1));
  auto fold = steps.folds.begin();
  int next = static_cast<int>(inputs_.size());
  for (const PieceStep& step : steps.steps) {
    if (kind_of(step.section) == Section::folds) {
      const auto from = static_cast<std::size_t>(step.operands[0]);
      add_fold(step, *fold++, next++, from >= is_packed.size() || is_packed[from]);
    } else {
      std::vector<int> results;
      for (std::size_t i = 0; i < step.results.size(); ++i) {
        results.push_back(next++);
      }
      add_step(step, results);
    }
  }
  choose_block();
  place_values();
  std::size_t most_folds = 0;
  for (Round& round : rounds_) {
    plan_loops(round.rows, true);
    plan_loops(round.domain, false);
    most_folds = std::max(most_folds, round.folds.size());
  }
  given_.resize(values_.size());
  if (cut_->in_chunks()) {
    partial_.resize(most_folds * static_cast<std::size_t>(cut_->chunks() * rows_) *
                    RowFold::kTotalBytes);
  }
}

std::size_t FusedRows::new_value(Value value) {
  values_.push_back(value);
  return values_.size() - 1;
}

// Says that a section reads a value: what another section has made is kept for it.
void FusedRows::keep_for(int value, int section) {
  Value& read = values_[static_cast<std::size_t>(value)];
  read.read = std::max(read.read, section);
  if (read.home == Home::loops && read.made != section) {
    read.home = Home::block;
  }
}

void FusedRows::add_step(PieceStep step, const std::vector<int>& results) {
  for (const int operand : step.operands) {
    keep_for(operand, step.section);
  }
  Round& round = rounds_[static_cast<std::size_t>(step.section / 3)];
  Loops& loops = kind_of(step.section) == Section::rows ? round.rows : round.domain;
  loops.steps.push_back(std::move(step));
  loops.results.push_back(results);
}

void FusedRows::add_fold(const PieceStep& step, const RowFold& fold, int result, bool is_packed) {
  int from = step.operands[0];
  if (!is_packed) {  // a view is copied row by row
    PieceStep copy = step;
    copy.section = step.section - 1;
    const auto copied = static_cast<int>(
        new_value({.dtype = fold.dtype, .made = copy.section, .read = copy.section}));
    add_step(std::move(copy), {copied});
    from = copied;
  }
  keep_for(from, step.section);
  if (Value& to = values_[static_cast<std::size_t>(result)]; to.home == Home::loops) {
    to.home = Home::block;
  }
  std::vector<bool> reduced(domain_.size());
  for (std::size_t axis = 0; axis < domain_.size(); ++axis) {
    reduced[axis] = rows_shape_[axis] != domain_[axis];
  }
  rounds_[static_cast<std::size_t>(step.section / 3)].folds.push_back(
      {fold, Reduction(domain_, reduced, size_of(fold.dtype)), from, result});
}

// As many rows as stay in a near cache with everything that is read or written for them.
void FusedRows::choose_block() {
  std::int64_t bytes = 0;
  for (std::size_t n = 0; n < values_.size(); ++n) {
    const Value& value = values_[n];
    const bool whole = value.home == Home::input ? numel(inputs_[n].shape) > rows_ : !value.of_rows;
    bytes += whole && value.home != Home::loops ? bytes_of(value.dtype) : 0;
  }
  const std::int64_t most = kRowBlockBytes / std::max<std::int64_t>(1, bytes * row_);
  block_rows_ =
      std::clamp<std::int64_t>(most, 1, std::clamp<std::int64_t>(rows_, 1, Reduction::kMaxBlock));
}

// Gives values that are kept a space each, or that of one that is not read any more.
void FusedRows::place_values() {
  struct Space {
    std::size_t at;
    std::int64_t bytes;
    int read;
  };
  std::vector<Space> spaces;
  const std::int64_t chunk = cut_->in_chunks() ? cut_->chunk() : block_rows_ * row_;
  std::size_t shared_bytes = 0;
  const auto take = [](std::size_t& end, std::int64_t bytes) {
    return std::exchange(end, end + whole_cache_lines(static_cast<std::size_t>(bytes)));
  };
  for (Value& value : values_) {
    if (value.home != Home::block) {
      continue;
    }
    const bool stays = value.read / 3 == value.made / 3 && !value.of_rows;  // for a reduction alone
    if (cut_->in_chunks() && !stays) {
      value.home = Home::shared;
      value.at = take(shared_bytes, (value.of_rows ? rows_ : rows_ * row_) * bytes_of(value.dtype));
      continue;
    }
    const std::int64_t bytes = (value.of_rows ? block_rows_ : chunk) * bytes_of(value.dtype);
    auto space = std::ranges::find_if(
        spaces, [&](const Space& old) { return old.bytes == bytes && old.read < value.made; });
    if (space == spaces.end()) {
      space = spaces.insert(space, {take(block_bytes_, bytes), bytes, 0});
    }
    space->read = value.read;
    value.at = space->at;
  }
  shared_.resize(shared_bytes);
}

void FusedRows::plan_loops(Loops& loops, bool of_rows) {
  if (loops.steps.empty()) {
    return;
  }
  std::vector<int> numbers(values_.size(), -1);  // of values, as the plan counts them
  std::vector<PieceInput> inputs;
  const auto is_made_here = [&](int value) {
    return std::ranges::any_of(loops.results, [&](const std::vector<int>& results) {
      return std::ranges::find(results, value) != results.end();
    });
  };
  for (const PieceStep& step : loops.steps) {
    for (const int operand : step.operands) {
      const auto n = static_cast<std::size_t>(operand);
      if (numbers[n] >= 0 || is_made_here(operand)) {
        continue;
      }
      numbers[n] = static_cast<int>(inputs.size());
      loops.in.push_back(operand);
      const Shape& shape = values_[n].of_rows ? rows_shape_ : domain_;
      inputs.push_back(n < inputs_.size()
                           ? inputs_[n]
                           : PieceInput{values_[n].dtype, shape, contiguous_strides(shape)});
    }
  }
  int next = static_cast<int>(inputs.size());
  for (std::size_t n = 0; n < loops.steps.size(); ++n) {
    PieceStep& step = loops.steps[n];
    for (int& operand : step.operands) {
      operand = numbers[static_cast<std::size_t>(operand)];
    }
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      const auto result = static_cast<std::size_t>(loops.results[n][i]);
      numbers[result] = next++;
      const bool leaves = values_[result].home != Home::loops;
      step.results[i].output = leaves ? static_cast<int>(loops.out.size()) : -1;
      if (leaves) {
        loops.out.push_back(loops.results[n][i]);
      }
    }
  }
  loops.plan.emplace(of_rows ? rows_shape_ : domain_, inputs, loops.steps);
  loops_bytes_ = std::max(loops_bytes_, loops.plan->scratch_bytes());
}

}  // namespace antichain::cpu
