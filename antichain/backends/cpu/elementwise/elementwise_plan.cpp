#include "antichain/backends/cpu/elementwise/elementwise_plan.h"

#include <algorithm>
#include <cstring>
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
  bool walks = false, buffered = false;
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
      input.access = Access::walk;
      walks = true;
    }
  }
  const std::size_t last = num_axes_ - 1;
  // A part of a row begins anywhere in a period: patterns would be filled anew for each.
  const bool several = steps_.size() > 1 && !blocks_.cuts_rows;
  by_rows_ =
      (walks || blocks_.cuts_rows) && sizes_[last] >= (several ? kShortRowOfSeveral : kShortRow);
  for (Input& input : inputs_) {
    if (by_rows_ && (input.access == Access::pattern || input.access == Access::walk) &&
        input.strides[last] == input.element_bytes) {
      input.access = Access::row;
    }
    buffered = buffered || input.access == Access::pattern || input.access == Access::walk;
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
    if (input.access == Access::pattern || input.access == Access::walk) {
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

std::int64_t ElementwisePlan::offset(const Input& input, std::int64_t position) const {
  std::int64_t bytes = 0;
  for (std::size_t axis = num_axes_; axis-- > 0;) {
    bytes += position % sizes_[axis] * input.strides[axis];
    position /= sizes_[axis];
  }
  return bytes;
}

// Copies elements [first, first + size) of the broadcast input.
template <class Element>
void ElementwisePlan::gather(const Input& input, const std::byte* from, std::int64_t first,
                             std::int64_t size, std::byte* buffer) const {
  constexpr std::int64_t kBytes = sizeof(Element);
  std::array<std::int64_t, kMaxAxes> position;
  for (std::size_t axis = num_axes_; axis-- > 0;) {
    position[axis] = first % sizes_[axis];
    first /= sizes_[axis];
    from += position[axis] * input.strides[axis];
  }
  const std::size_t last = num_axes_ - 1;
  const std::int64_t stride = input.strides[last];
  while (true) {
    const std::int64_t run = std::min(size, sizes_[last] - position[last]);
    Element element;
    std::memcpy(&element, from, sizeof(Element));
    if (stride == 0) {  // most often a scalar: compilers make a fast loop of this one
      for (std::int64_t i = 0; i < run; ++i) {
        std::memcpy(buffer + i * kBytes, &element, sizeof(Element));
      }
    } else {
      for (std::int64_t i = 0; i < run; ++i) {
        std::memcpy(buffer + i * kBytes, from + i * stride, sizeof(Element));
      }
    }
    buffer += run * kBytes;
    size -= run;
    if (size == 0) {
      return;
    }
    from -= position[last] * stride;  // the run ended with its row: go to the next one
    position[last] = 0;
    for (std::size_t axis = last; axis-- > 0;) {
      from += input.strides[axis];
      if (++position[axis] < sizes_[axis]) {
        break;
      }
      from -= sizes_[axis] * input.strides[axis];
      position[axis] = 0;
    }
  }
}

void ElementwisePlan::fill(const Input& input, const std::byte* from, std::int64_t first,
                           std::int64_t size, std::byte* buffer) const {
  switch (input.element_bytes) {
    case 1: return gather<std::uint8_t>(input, from, first, size, buffer);
    case 2: return gather<std::uint16_t>(input, from, first, size, buffer);
    case 4: return gather<std::uint32_t>(input, from, first, size, buffer);
    default: return gather<std::uint64_t>(input, from, first, size, buffer);
  }
}

// One period, from wherever `first` is in it, and then twice as much again and again.
void ElementwisePlan::fill_pattern(const Input& input, const std::byte* from, std::int64_t first,
                                   std::int64_t size, std::byte* buffer) const {
  std::int64_t filled = std::min(input.period, size);
  fill(input, from, first, filled, buffer);
  for (std::int64_t more; filled < size; filled += more) {
    more = std::min(filled, size - filled);
    std::memcpy(buffer + filled * input.element_bytes, buffer,
                static_cast<std::size_t>(more * input.element_bytes));
  }
}

void ElementwisePlan::run_steps(const std::byte** values, const Operands& operands,
                                std::byte* scratch, std::int64_t first, std::int64_t size) const {
  const void* in[kMaxValues];
  void* out[kMaxValues];
  std::size_t next = 0;  // result
  for (const PieceStep& step : steps_) {
    std::size_t count = 0;
    for (const int operand : step.operands) {
      in[count++] = values[operand];
    }
    if (!step.constants.empty()) {
      in[count] = step.constants.data();
    }
    for (std::size_t i = 0; i < step.results.size(); ++i, ++next) {
      const Result& result = results_[next];
      std::byte* const to =
          result.output >= 0
              ? operands.out[static_cast<std::size_t>(result.output)] + first * result.element_bytes
              : scratch + result.buffer;
      out[i] = to;
      values[inputs_.size() + next] = to;
    }
    if (step.loop != nullptr) {
      step.loop(in, out[0], size);
    } else {
      step.cluster_loop(in, out, size);
    }
  }
}

void ElementwisePlan::run_part(const Operands& operands, const Block& part, const std::byte* given,
                               std::byte* scratch) const {
  const std::byte* values[kMaxValues];
  const std::int64_t row = sizes_[num_axes_ - 1];
  for (std::int64_t i = 0; i < part.rows; ++i) {
    std::int64_t first = part.first + i * part.step;
    const std::int64_t last = first + part.width;
    for (std::size_t n = 0; n < inputs_.size(); ++n) {
      const Input& input = inputs_[n];
      if (input.access == Access::pattern && (i == 0 || input.period > 1)) {
        values[n] = scratch + input.buffer;
        fill_pattern(input, operands.in[n], first, std::min(piece_, part.width),
                     scratch + input.buffer);
      }
    }
    const std::int64_t before = first - i * part.width;  // the block's element 0, if it were packed
    for (std::int64_t size; first < last; first += size) {
      size = std::min(piece_, last - first);
      size = by_rows_ ? std::min(size, row - first % row) : size;
      for (std::size_t n = 0; n < inputs_.size(); ++n) {
        const Input& input = inputs_[n];
        if (input.access == Access::direct) {
          values[n] = operands.in[n] + first * input.element_bytes;
        } else if (input.access == Access::block) {
          values[n] = given + (first - before) * input.element_bytes;
        } else if (input.access == Access::row) {
          values[n] = operands.in[n] + offset(input, first);
        } else if (input.access == Access::walk) {
          fill(input, operands.in[n], first, size, scratch + input.buffer);
          values[n] = scratch + input.buffer;
        }
      }
      run_steps(values, operands, scratch, first, size);
    }
  }
}

void ElementwisePlan::run_range(const Operands& operands, std::int64_t first, std::int64_t last,
                                std::byte* scratch) const {
  if (first < last) {
    run_part(operands, {first, 1, last - first, last - first}, nullptr, scratch);
  }
}

void ElementwisePlan::run_block(const Operands& operands, const Block& block,
                                const std::byte* given) const {
  const std::int64_t count = block.elements();
  const bool one_run = block.rows == 1 || block.width == block.step;
  const auto run_some = [&](const Block& part, const std::byte* there) {
    std::byte* const scratch = scratch_bytes_ > 0 ? thread_scratch(scratch_bytes_) : nullptr;
    run_part(operands, part, there, scratch);
  };
  if (count == 0) {
    return;
  }
  if (!one_run || count * static_cast<std::int64_t>(steps_.size()) < kParallelFrom) {
    run_some(one_run ? Block{block.first, 1, count, count} : block, given);
    return;
  }
  // A block that is not computed beside others is shared out among the threads.
  parallel_ranges(count, grain_, [&](std::int64_t first, std::int64_t last) {
    const std::byte* const there =
        blocks_.input < 0
            ? nullptr
            : given + first * inputs_[static_cast<std::size_t>(blocks_.input)].element_bytes;
    run_some({block.first + first, 1, last - first, last - first}, there);
  });
}

void ElementwisePlan::run(const Operands& operands) const {
  run_block(operands, {0, 1, count_, count_}, nullptr);
}

}  // namespace antichain::cpu
