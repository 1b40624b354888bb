#include "antichain/ops/convolution/convolution_vmap.h"

#include <algorithm>
#include <array>

#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

// The axes of a convolution that copies can be part of: which tensors have them.
enum class CopiesAre {
  examples,         // x and output
  output_channels,  // weight and output
  input_channels,   // x and weight
  groups            // all three
};

// Where the mapped axis stands in a tensor: in front of an axis or, with `groups` above 1, behind
// the groups that the axis consists of.
struct CopiesAxis {
  std::int64_t axis = 0, groups = 1;
};

CopiesAxis copies_axis(ConvTensor tensor, CopiesAre copies, const Op& op) {
  const bool is_weight = tensor == ConvTensor::weight;
  const std::int64_t groups = op.attrs().get<std::int64_t>("groups");
  const std::int64_t channels = op.attrs().get<bool>("channels_last") ? op.output().rank() - 1 : 1;
  switch (copies) {
    case CopiesAre::examples: return {0};
    case CopiesAre::output_channels: return {is_weight ? 0 : channels, groups};
    case CopiesAre::input_channels: return is_weight ? CopiesAxis{1} : CopiesAxis{channels, groups};
    case CopiesAre::groups: return {is_weight ? 0 : channels};
  }
  return {};
}

// [copies, shape...] with the copies as a part of an axis of the shape.
Var with_copies_inside(Var value, CopiesAxis where) {
  auto at = static_cast<std::ptrdiff_t>(where.axis);  // where the copies go
  Dims shape = value.shape();
  if (where.groups > 1) {
    const Dim size = shape[static_cast<std::size_t>(at + 1)];
    shape[static_cast<std::size_t>(at + 1)] = size / where.groups;
    shape.insert(shape.begin() + at + 1, Dim(where.groups));
    value = reshape(value, shape);
    ++at;
  }
  value = at == 0 ? value : move_axis(value, 0, at);
  Dims joined = value.shape();
  const auto behind = static_cast<std::size_t>(at + 1);
  joined[behind] = joined[behind] * joined[static_cast<std::size_t>(at)] * where.groups;
  const auto first = joined.begin() + at - (where.groups > 1 ? 1 : 0);
  joined.erase(first, joined.begin() + at + 1);
  return reshape(value, joined);
}

// The inverse: `shape` is that of one copy.
Var with_copies_in_front(Var value, CopiesAxis where, Dim copies, const Dims& shape) {
  const auto axis = static_cast<std::size_t>(where.axis);
  const Dim size = shape[axis];
  Dims apart(shape.begin(), shape.begin() + where.axis);
  if (where.groups > 1) {
    apart.emplace_back(where.groups);
  }
  const std::size_t at = apart.size();
  apart.push_back(copies);
  apart.push_back(where.groups > 1 ? size / where.groups : size);
  apart.insert(apart.end(), shape.begin() + where.axis + 1, shape.end());
  value = reshape(value, apart);
  value = at == 0 ? value : move_axis(value, static_cast<std::int64_t>(at), 0);
  Dims whole = {copies};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return reshape(value, whole);
}

}  // namespace

std::optional<std::vector<Var>> vmap_convolution(VmapContext& context, ConvTensor first,
                                                 ConvTensor second, ConvTensor result) {
  const std::array<ConvTensor, 2> inputs = {first, second};
  const auto differs = [&](ConvTensor tensor) {
    return tensor == result || context.is_mapped(tensor == first ? 0 : 1);
  };
  const CopiesAre copies = !differs(ConvTensor::weight)   ? CopiesAre::examples
                           : !differs(ConvTensor::x)      ? CopiesAre::output_channels
                           : !differs(ConvTensor::output) ? CopiesAre::input_channels
                                                          : CopiesAre::groups;
  Attrs attrs = context.attrs();
  if (copies == CopiesAre::groups) {
    if (!context.copies().is_constant() || context.copies().constant() == 0) {
      return std::nullopt;
    }
    attrs.set("groups", attrs.get<std::int64_t>("groups") * context.copies().constant());
  }
  std::vector<Var> values;
  for (int i = 0; i < 2; ++i) {
    const Var value = context.value(i);
    values.push_back(
        context.is_mapped(i)
            ? with_copies_inside(
                  value, copies_axis(inputs[static_cast<std::size_t>(i)], copies, context.op()))
            : value);
  }
  return std::vector{with_copies_in_front(context.same_op(values, attrs)[0],
                                          copies_axis(result, copies, context.op()),
                                          context.copies(), context.op().output().shape())};
}

}  // namespace antichain
