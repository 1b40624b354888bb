#include "antichain/backends/cpu/elementwise/elementwise_plan.h"

#include <algorithm>
#include <utility>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kPiece = 1024, kShortestPiece = 128;  // elements
constexpr std::int64_t kNearCache = 24 * 1024;  // bytes that all operands of a piece may take
constexpr std::int64_t kMaxElementBytes = 8;
// Elements of a row: below, a call per row is too dear, of one loop and of each of several.
constexpr std::int64_t kShortRow = 64, kShortRowOfSeveral = 256;
constexpr std::int64_t kBufferedGrain = 64 * 1024;  // elements: patterns are filled once per range

}  // namespace

ElementwisePlan::ElementwisePlan(const Shape& shape, const std::vector<PieceInput>& inputs,
                                 std::vector<PieceStep> steps, InBlocks blocks)
    : steps_(std::move(steps)), inputs_(inputs.size()), count_(numel(shape)), blocks_(blocks) {
  std::vector<bool> used(inputs_.size(), false);
  for (const PieceStep& step : steps_) {
    for (const PieceStep::Result& result : step.results) {
      results_.push_back({bytes_of(result.dtype), result.output});
    }
    for (const int operand : step.operands) {
      if (static_cast<std::size_t>(operand) < used.size()) {
        used[static_cast<std::size_t>(operand)] = true;
      }
    }
  }
  for (std::size_t n = 0; n < inputs_.size(); ++n) {
    inputs_[n].access = used[n] ? Access::direct : Access::unused;
  }
  merge_axes(shape, inputs);
  choose_piece(inputs);
  choose_access();
  place_buffers();
}

// Axes of size 1 go, and neighbours along which every input steps evenly become one.
void ElementwisePlan::merge_axes(const Shape& shape, const std::vector<PieceInput>& inputs) {
  sizes_[0] = 1;
  for (std::size_t n = 0; n < inputs_.size(); ++n) {
    inputs_[n].element_bytes = bytes_of(inputs[n].dtype);
  }
  std::vector<std::int64_t> strides(inputs_.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) {
      continue;
    }
    bool merges = true;
    for (std::size_t n = 0; n < inputs_.size(); ++n) {
      const PieceInput& input = inputs[n];
      const std::size_t missing = shape.size() - input.shape.size();
      const bool steps = axis >= missing && input.shape[axis - missing] != 1;
      strides[n] = steps ? input.strides[axis - missing] * inputs_[n].element_bytes : 0;
      merges = merges && (inputs_[n].access == Access::unused ||
                          inputs_[n].strides[num_axes_ - 1] == strides[n] * shape[axis]);
    }
    if (sizes_[num_axes_ - 1] == 1) {
      sizes_[num_axes_ - 1] = shape[axis];
    } else if (merges) {
      sizes_[num_axes_ - 1] *= shape[axis];
    } else {
      sizes_[num_axes_++] = shape[axis];
    }
    for (std::size_t n = 0; n < inputs_.size(); ++n) {
      inputs_[n].strides[num_axes_ - 1] = strides[n];
    }
  }
}

// The operands of a piece should stay in the nearest cache from one step to the next.
void ElementwisePlan::choose_piece(const std::vector<PieceInput>& inputs) {
  most_ = kPiece;
  if (steps_.size() == 1) {
    return;
  }
  std::int64_t bytes = 0;
  for (std::size_t n = 0; n < inputs_.size(); ++n) {
    const bool counts = inputs_[n].access != Access::unused && numel(inputs[n].shape) > 1;
    bytes += counts ? inputs_[n].element_bytes : 0;
  }
  for (const Result& result : results_) {
    bytes += result.output >= 0 ? result.element_bytes : 0;
  }
  while (most_ > kShortestPiece && most_ * bytes > kNearCache) {
    most_ /= 2;
  }
}

// After how many elements an input that is packed along its last axes repeats itself along all
// others; 0 if it does not.
std::int64_t ElementwisePlan::packed_period(const Input& input) const {
  std::int64_t period = 1;
  std::size_t axis = num_axes_;
  while (axis > 0 && input.strides[axis - 1] == period * input.element_bytes) {
    period *= sizes_[--axis];
  }
  while (axis > 0 && input.strides[axis - 1] == 0) {
    --axis;
  }
  return axis == 0 ? period : 0;
}

void ElementwisePlan::choose_access() {
  std::int64_t longest = 1;  // period; shorter ones divide it, as all end with the last axis
  bool gathers = false, buffered = false;
  for (std::size_t n = 0; n < inputs_.size(); ++n) {
    Input& input = inputs_[n];
    if (input.access == Access::unused) {
      continue;
    }
    input.period = packed_period(input);
    if (static_cast<int>(n) == blocks_.input) {
      input.access = Access::block;
    } else if (input.period == count_) {
      input.access = Access::direct;
    } else if (input.period > 0 && input.period <= most_ / 2) {
      input.access = Access::pattern;
      longest = std::max(longest, input.period);
    } else {
      input.access = Access::gathered;
      gathers = true;
    }
  }
  const std::size_t last = num_axes_ - 1;
  // A part of a row begins anywhere in a period: patterns would be filled anew for each.
  const bool several = steps_.size() > 1 && !blocks_.cuts_rows;
  by_rows_ =
      (gathers || blocks_.cuts_rows) && sizes_[last] >= (several ? kShortRowOfSeveral : kShortRow);
  for (Input& input : inputs_) {
    if (by_rows_ && (input.access == Access::pattern || input.access == Access::gathered) &&
        input.strides[last] == input.element_bytes) {
      input.access = Access::row;
    }
    buffered = buffered || input.access == Access::pattern || input.access == Access::gathered;
  }
  const bool whole = !buffered && steps_.size() == 1;
  piece_ = whole ? std::max<std::int64_t>(count_, 1) : by_rows_ ? most_ : most_ / longest * longest;
  // Ranges begin where pieces begin.
  grain_ = buffered ? kBufferedGrain / piece_ * piece_
           : whole  ? kElementGrain
                    : kElementGrain / piece_ * piece_;
}

// Gives each buffered input a place of its own, and results that only later steps read the place of
// one that is not read any more.
void ElementwisePlan::place_buffers() {
  const auto take = [this](std::int64_t element_bytes) {
    const std::size_t at = scratch_bytes_;
    scratch_bytes_ += whole_cache_lines(static_cast<std::size_t>(most_ * element_bytes));
    return at;
  };
  for (Input& input : inputs_) {
    if (input.access == Access::pattern || input.access == Access::gathered) {
      input.buffer = take(input.element_bytes);
    }
  }
  std::vector<std::size_t> last_read(results_.size(), 0);  // the step
  std::size_t first_result = 0;
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    for (std::size_t i = 0; i < steps_[n].results.size(); ++i) {
      last_read[first_result++] = n;
    }
    for (const int operand : steps_[n].operands) {
      const std::ptrdiff_t result = operand - static_cast<std::ptrdiff_t>(inputs_.size());
      if (result >= 0) {
        last_read[static_cast<std::size_t>(result)] = n;
      }
    }
  }
  std::vector<std::size_t> free;  // all of the widest element's size
  first_result = 0;
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    for (std::size_t i = 0; i < steps_[n].results.size(); ++i, ++first_result) {
      if (Result& result = results_[first_result]; result.output < 0) {
        if (free.empty()) {
          result.buffer = take(kMaxElementBytes);
        } else {
          result.buffer = free.back();
          free.pop_back();
        }
      }
    }
    for (std::size_t before = 0; before < first_result; ++before) {
      if (last_read[before] == n && results_[before].output < 0) {
        free.push_back(results_[before].buffer);
      }
    }
  }
}

}  // namespace antichain::cpu
