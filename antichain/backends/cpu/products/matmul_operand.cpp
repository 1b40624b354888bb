#include "antichain/backends/cpu/products/matmul_operand.h"

#include "antichain/backends/cpu/elementwise/convert_elements.h"

namespace antichain::cpu {

namespace {

// Axes of one element have any stride; gives them the one that a packed matrix has.
MatrixStrides without_freedom(std::int64_t rows, std::int64_t columns, MatrixStrides strides) {
  if (columns == 1) {
    return {rows == 1 ? 1 : strides.row, 1};
  }
  if (rows == 1) {
    return strides.column == 1 ? MatrixStrides{columns, 1} : MatrixStrides{1, strides.column};
  }
  return strides;
}

bool readable(std::int64_t rows, std::int64_t columns, MatrixStrides strides) {
  return (strides.column == 1 && strides.row >= columns) ||
         (strides.row == 1 && strides.column >= rows);
}

}  // namespace

MatmulOperand::MatmulOperand(const Tensor& tensor, bool transposed, DType dtype) {
  const bool convert = tensor.dtype() != dtype;
  const auto take = [&](const Strides& all) {
    const Shape& shape = tensor.shape();
    rows = shape.end()[transposed ? -1 : -2];
    columns = shape.end()[transposed ? -2 : -1];
    strides = without_freedom(rows, columns,
                              {all.end()[transposed ? -1 : -2], all.end()[transposed ? -2 : -1]});
    batch.assign(shape.begin(), shape.end() - 2);
    batch_strides.assign(all.begin(), all.end() - 2);
  };
  take(tensor.strides());
  const Strides packed = contiguous_strides(tensor.shape());
  must_pack_ = convert ? tensor.strides() != packed : !readable(rows, columns, strides);
  if (must_pack_) {
    packed_ = Tensor::empty(tensor.dtype(), tensor.shape());
  }
  if (convert) {
    converted_ = Tensor::empty(dtype, tensor.shape());
  }
  if (must_pack_ || convert) {
    take(packed);
  }
}

const std::byte* MatmulOperand::read(const Tensor& tensor) const {
  if (must_pack_) {
    packed_.copy_from(tensor);
  }
  const Tensor& source = must_pack_ ? packed_ : tensor;
  if (converted_.defined()) {
    convert_elements(source, converted_);
  }
  return static_cast<const std::byte*>((converted_.defined() ? converted_ : source).raw());
}

}  // namespace antichain::cpu
