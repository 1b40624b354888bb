#include "antichain/backends/cpu/rows/normalizer.h"

namespace antichain::cpu {

Normalizer::Normalizer(const Shape& shape, const std::vector<bool>& reduced,
                       std::size_t element_bytes)
    : reduction_(shape, reduced, element_bytes),
      element_bytes_(static_cast<std::int64_t>(element_bytes)) {
  if (reduction_.in_chunks()) {
    numbers_.resize(static_cast<std::size_t>(3 * reduction_.outputs()));
  }
}

void Normalizer::change_matrix(const void* x, void* out, const ReductionMatrix& matrix,
                               const ApplyNumbers& numbers, const ChangeLoops& loops,
                               const double* scale, const double* bias) const {
  const ApplyLoop loop = reduction_.by_columns() ? loops.by_column : loops.by_row;
  const std::int64_t at = matrix.offset * element_bytes_;
  loop(static_cast<const std::byte*>(x) + at, static_cast<std::byte*>(out) + at, matrix.rows,
       matrix.stride, matrix.columns, numbers, scale ? scale + matrix.line : nullptr,
       bias ? bias + matrix.line : nullptr);
}

void Normalizer::change(const void* x, void* out, const ApplyNumbers& numbers,
                        const ChangeLoops& loops, const double* scale, const double* bias) const {
  reduction_.parallel_matrices([&](const ReductionMatrix& matrix) {
    const std::int64_t first = matrix.first_output;
    const ApplyNumbers own{numbers.a + first, numbers.b + first, numbers.c + first};
    change_matrix(x, out, matrix, own, loops, scale, bias);
  });
}

}  // namespace antichain::cpu
