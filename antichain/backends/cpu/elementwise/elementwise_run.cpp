// How a plan is run: pieces are fetched, and each goes through all steps.
#include <algorithm>
#include <cstring>

#include "antichain/backends/cpu/elementwise/elementwise_plan.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu {

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
        } else if (input.access == Access::gathered) {
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
