#include "antichain/backends/cuda/elementwise/strided_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace antichain::cuda {

namespace {

std::vector<Strides> all_strides(const Shape& shape, std::span<const Tensor* const> operands) {
  std::vector<Strides> strides;
  for (const Tensor* operand : operands) {
    strides.push_back(broadcast_strides(*operand, shape));
  }
  return strides;
}

}  // namespace

Strides broadcast_strides(const Tensor& tensor, const Shape& shape) {
  Strides strides(shape.size(), 0);
  const std::size_t added = shape.size() - tensor.shape().size();
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    strides[axis + added] = tensor.shape()[axis] == 1 ? 0 : tensor.strides()[axis];
  }
  return strides;
}

std::int64_t reciprocal_of(std::int64_t size) {
  constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  if (size < 1 || size >= std::int64_t{1} << 31) {
    return 0;
  }
  const auto divisor = static_cast<std::uint64_t>(size);
  const auto shift = static_cast<std::uint64_t>(std::bit_width(divisor - 1));  // log2, rounded up
  const std::uint64_t factor = kOne * ((std::uint64_t{1} << shift) - divisor) / divisor + 1;
  return static_cast<std::int64_t>(shift << 32 | factor);
}

StridedLoop::StridedLoop(const Shape& shape, std::span<const Tensor* const> operands)
    : StridedLoop(shape, all_strides(shape, operands)) {}

StridedLoop::StridedLoop(const Shape& shape, const std::vector<Strides>& operands)
    : count(numel(shape)), strides(operands.size()) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) {
      continue;
    }
    bool joins = !sizes.empty();
    for (std::size_t n = 0; joins && n < operands.size(); ++n) {
      joins = strides[n].back() == operands[n][axis] * shape[axis];
    }
    if (joins) {
      sizes.back() *= shape[axis];
    } else {
      sizes.push_back(shape[axis]);
    }
    for (std::size_t n = 0; n < operands.size(); ++n) {
      if (joins) {
        strides[n].back() = operands[n][axis];
      } else {
        strides[n].push_back(operands[n][axis]);
      }
    }
  }
}

StridedLoop::Kind StridedLoop::kind_of(std::size_t operand) const {
  const std::vector<std::int64_t>& own = strides[operand];
  if (std::ranges::all_of(own, [](std::int64_t stride) { return stride == 0; })) {
    return Kind::number;
  }
  std::int64_t packed = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0; packed *= sizes[axis]) {
    if (own[axis] != packed) {
      return Kind::strided;
    }
  }
  return Kind::dense;
}

bool StridedLoop::has_runs(std::int64_t width) const {
  return !has_strided() || sizes.back() % width == 0;
}

bool StridedLoop::is_run(std::size_t operand, std::int64_t width) const {
  const std::vector<std::int64_t>& own = strides[operand];
  return kind_of(operand) == Kind::dense ||
         (inner_stride(operand) == 1 &&
          std::all_of(own.begin(), own.end() - 1,
                      [width](std::int64_t stride) { return stride % width == 0; }));
}

std::int64_t StridedLoop::inner_stride(std::size_t operand) const {
  return strides[operand].empty() ? 0 : strides[operand].back();
}

bool StridedLoop::has_strided() const {
  for (std::size_t n = 0; n < strides.size(); ++n) {
    if (kind_of(n) == Kind::strided) {
      return true;
    }
  }
  return false;
}

std::string StridedLoop::positions_code() const {
  std::string code;
  if (!has_strided()) {
    return code;
  }
  code = "    Index rest = i;\n";
  for (std::size_t axis = sizes.size(); axis-- > 1;) {
    code += fmt::format(
        "    const Index above{0} = antichain::device::quotient(rest, a.sizes[{0}], "
        "a.reciprocals[{0}]);\n"
        "    const Index p{0} = rest - above{0} * Index(a.sizes[{0}]);\n"
        "    rest = above{0};\n",
        axis);
  }
  return code + "    const Index p0 = rest;\n";
}

std::string StridedLoop::place_code(std::size_t operand) const {
  switch (kind_of(operand)) {
    case Kind::number: return "0";
    case Kind::dense: return "i";
    case Kind::strided: break;
  }
  std::string code;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (strides[operand][axis] != 0) {
      code += fmt::format("{}(long long)p{} * a.strides[{}][{}]", code.empty() ? "" : " + ", axis,
                          operand, axis);
    }
  }
  return code;
}

std::string StridedLoop::members_code() const {
  const std::size_t axes = std::max<std::size_t>(sizes.size(), 1);
  return fmt::format(
      "  long long count;\n  long long sizes[{0}];\n"
      "  antichain::device::Reciprocal reciprocals[{0}];\n  long long strides[{1}][{0}];\n",
      axes, std::max<std::size_t>(strides.size(), 1));
}

std::vector<std::int64_t> StridedLoop::slots() const {
  const std::size_t axes = std::max<std::size_t>(sizes.size(), 1);
  std::vector<std::int64_t> slots = {count};
  const auto append = [&](const std::vector<std::int64_t>& values) {
    slots.insert(slots.end(), values.begin(), values.end());
    slots.resize(slots.size() + axes - values.size(), 1);
  };
  append(sizes);
  std::vector<std::int64_t> reciprocals;
  std::ranges::transform(sizes, std::back_inserter(reciprocals), reciprocal_of);
  append(reciprocals);
  for (const std::vector<std::int64_t>& each : strides) {
    append(each);
  }
  if (strides.empty()) {
    append({});
  }
  return slots;
}

}  // namespace antichain::cuda
