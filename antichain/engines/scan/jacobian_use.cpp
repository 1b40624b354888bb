#include "antichain/engines/scan/jacobian_use.h"

#include "antichain/autodiff/walk.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

std::optional<Shape> example_shape(Var value) {
  if (value.rank() == 0) {
    return std::nullopt;
  }
  Shape shape;
  for (int axis = 1; axis < value.rank(); ++axis) {
    if (!value.dim(axis).is_constant()) {
      return std::nullopt;
    }
    shape.push_back(value.dim(axis).constant());
  }
  return shape;
}

Var flat_examples(Var value) {
  const Dims& shape = value.shape();
  return reshape(value, {shape[0], numel(Dims(shape.begin() + 1, shape.end()))});
}

std::optional<JacobianUse> JacobianUse::of(Op op, const std::vector<int>& inputs) {
  const Var x = op.input(inputs[0]), y = op.output();
  const std::optional<Shape> x_shape = example_shape(x), y_shape = example_shape(y);
  if (!x_shape || !y_shape || x.dim(0) != y.dim(0) || x.dtype() != y.dtype() ||
      !is_float(x.dtype())) {
    return std::nullopt;
  }
  return JacobianUse{op, inputs, x, y, *x_shape, *y_shape};
}

Var JacobianUse::gradient_along(Op other, Var direction) const {
  std::vector<bool> needed(static_cast<std::size_t>(other.num_inputs()));
  for (const int input : inputs) {
    needed[static_cast<std::size_t>(input)] = true;
  }
  std::vector<Var> directions(static_cast<std::size_t>(other.num_outputs()));
  directions[0] = direction;
  const std::vector<Var> found = op_vjp(other, directions, needed);
  Var total;
  for (const int input : inputs) {
    if (const Var part = found[static_cast<std::size_t>(input)]; part.valid()) {
      total = total.valid() ? total + part : part;
    }
  }
  return total.valid() ? total : zeros_like(other.input(inputs[0]));
}

CsrPattern one_per_column(const std::vector<std::int32_t>& rows, std::int64_t num_rows) {
  CsrPattern pattern{.num_columns = static_cast<std::int64_t>(rows.size())};
  pattern.row_starts.assign(static_cast<std::size_t>(num_rows) + 1, 0);
  pattern.columns.resize(rows.size());
  for (const std::int32_t row : rows) {
    ++pattern.row_starts[static_cast<std::size_t>(row) + 1];
  }
  for (std::size_t row = 1; row < pattern.row_starts.size(); ++row) {
    pattern.row_starts[row] += pattern.row_starts[row - 1];
  }
  std::vector<std::int32_t> next = pattern.row_starts;
  for (std::size_t column = 0; column < rows.size(); ++column) {
    const std::int32_t element = next[static_cast<std::size_t>(rows[column])]++;
    pattern.columns[static_cast<std::size_t>(element)] = static_cast<std::int32_t>(column);
  }
  return pattern;
}

std::vector<std::int32_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<std::int32_t> all;
  Shape index(shape.size());
  for (std::int64_t n = 0; n < numel(shape); ++n) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      place += index[axis] * strides[axis];
    }
    all.push_back(static_cast<std::int32_t>(place));
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
      index[axis] = 0;
    }
  }
  return all;
}

}  // namespace antichain::scan
