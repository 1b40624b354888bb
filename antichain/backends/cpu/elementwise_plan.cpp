#include "antichain/backends/cpu/elementwise_plan.h"

#include <algorithm>
#include <cstring>

#include "antichain/backends/cpu/parallel.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kPiece = 1024;  // elements: the buffers of all inputs fit into the L1 cache
constexpr std::int64_t kMaxElementBytes = 8;
constexpr std::int64_t kShortRow = 64;              // elements: below, a call per row is too dear
constexpr std::int64_t kGrain = 16 * 1024;          // elements
constexpr std::int64_t kBufferedGrain = 64 * 1024;  // elements: patterns are filled once per range
constexpr std::int64_t kParallelFrom =
    32 * 1024;  // elements: below, threads cost more than they do

}  // namespace

ElementwisePlan::ElementwisePlan(const KernelContext& context, int num_inputs, ElementLoop loop,
                                 std::span<const double> constants)
    : loop_(loop),
      num_inputs_(num_inputs),
      out_bytes_(static_cast<std::int64_t>(size_of(context.out().dtype()))),
      count_(context.out().numel()) {
  std::copy(constants.begin(), constants.end(), constants_.begin());
  merge_axes(context);
  choose_access();
}

// Axes of size 1 go, and neighbours along which every input steps evenly become one.
void ElementwisePlan::merge_axes(const KernelContext& context) {
  const Shape& shape = context.out().shape();
  sizes_[0] = 1;
  for (int n = 0; n < num_inputs_; ++n) {
    inputs_[static_cast<std::size_t>(n)].element_bytes =
        static_cast<std::int64_t>(size_of(context.in(n).dtype()));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) {
      continue;
    }
    std::array<std::int64_t, kMaxInputs> strides{};
    bool merges = true;
    for (int n = 0; n < num_inputs_; ++n) {
      const Tensor& tensor = context.in(n);
      const Input& input = inputs_[static_cast<std::size_t>(n)];
      std::int64_t& stride = strides[static_cast<std::size_t>(n)];
      const std::size_t missing = shape.size() - tensor.shape().size();
      if (axis >= missing && tensor.shape()[axis - missing] != 1) {
        stride = tensor.strides()[axis - missing] * input.element_bytes;
      }
      merges = merges && input.strides[num_axes_ - 1] == stride * shape[axis];
    }
    if (sizes_[num_axes_ - 1] == 1) {
      sizes_[num_axes_ - 1] = shape[axis];
    } else if (merges) {
      sizes_[num_axes_ - 1] *= shape[axis];
    } else {
      sizes_[num_axes_++] = shape[axis];
    }
    for (int n = 0; n < num_inputs_; ++n) {
      inputs_[static_cast<std::size_t>(n)].strides[num_axes_ - 1] =
          strides[static_cast<std::size_t>(n)];
    }
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
  const std::span<Input> inputs(inputs_.data(), static_cast<std::size_t>(num_inputs_));
  std::int64_t longest = 1;  // period; shorter ones divide it, as all end with the last axis
  bool walks = false, buffered = false;
  for (Input& input : inputs) {
    input.period = packed_period(input);
    if (input.period == count_) {
      input.access = Access::direct;
    } else if (input.period > 0 && input.period <= kPiece / 2) {
      input.access = Access::pattern;
      longest = std::max(longest, input.period);
    } else {
      input.access = Access::walk;
      walks = true;
    }
  }
  const std::size_t last = num_axes_ - 1;
  by_rows_ = walks && sizes_[last] >= kShortRow;
  for (Input& input : inputs) {
    if (by_rows_ && input.access != Access::direct && input.strides[last] == input.element_bytes) {
      input.access = Access::row;
    }
    all_direct_ = all_direct_ && input.access == Access::direct;
    buffered = buffered || input.access == Access::pattern || input.access == Access::walk;
  }
  piece_ = !buffered ? count_ : by_rows_ ? kPiece : kPiece / longest * longest;
  grain_ = buffered ? kBufferedGrain / piece_ * piece_ : kGrain;  // ranges begin where pieces begin
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

void ElementwisePlan::run_pieces(const Operands& operands, std::int64_t first,
                                 std::int64_t last) const {
  alignas(64) std::byte buffers[kMaxInputs][kPiece * kMaxElementBytes];
  const void* in[kMaxInputs + 1];
  std::copy(operands.in.begin(), operands.in.end(), in);
  for (std::size_t n = 0; n < inputs().size(); ++n) {
    if (inputs_[n].access == Access::pattern) {
      fill(inputs_[n], operands.in[n], 0, std::min(piece_, last - first), buffers[n]);
      in[n] = buffers[n];
    }
  }
  const std::int64_t row = sizes_[num_axes_ - 1];
  for (std::int64_t size; first < last; first += size) {
    size = std::min(piece_, last - first);
    size = by_rows_ ? std::min(size, row - first % row) : size;
    for (std::size_t n = 0; n < inputs().size(); ++n) {
      const Input& input = inputs_[n];
      if (input.access == Access::direct) {
        in[n] = operands.in[n] + first * input.element_bytes;
      } else if (input.access == Access::row) {
        in[n] = operands.in[n] + offset(input, first);
      } else if (input.access == Access::walk) {
        fill(input, operands.in[n], first, size, buffers[n]);
        in[n] = buffers[n];
      }
    }
    loop_(in, operands.out + first * out_bytes_, size);
  }
}

void ElementwisePlan::run_range(const Operands& operands, std::int64_t first,
                                std::int64_t last) const {
  if (!all_direct_) {
    run_pieces(operands, first, last);
    return;
  }
  const void* in[kMaxInputs + 1];
  std::copy(operands.in.begin(), operands.in.end(), in);
  for (std::size_t n = 0; n < inputs().size(); ++n) {
    in[n] = operands.in[n] + first * inputs_[n].element_bytes;
  }
  loop_(in, operands.out + first * out_bytes_, last - first);
}

void ElementwisePlan::run(const KernelContext& context) const {
  if (count_ == 0) {
    return;
  }
  Operands operands{};
  for (int n = 0; n < num_inputs_; ++n) {
    operands.in[static_cast<std::size_t>(n)] = static_cast<const std::byte*>(context.in(n).raw());
  }
  operands.in[inputs().size()] = reinterpret_cast<const std::byte*>(constants_.data());
  operands.out = static_cast<std::byte*>(context.out().raw());
  if (count_ < kParallelFrom) {
    run_range(operands, 0, count_);
    return;
  }
  parallel_ranges(count_, grain_,
                  [&](std::int64_t first, std::int64_t last) { run_range(operands, first, last); });
}

}  // namespace antichain::cpu
