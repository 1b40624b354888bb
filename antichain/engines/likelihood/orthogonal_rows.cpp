#include "antichain/engines/likelihood/orthogonal_rows.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace antichain::likelihood {

namespace {

using Spectrum = std::vector<double>;

// Sylvester's construction.
double entry(std::int64_t row, std::int64_t column) {
  return std::popcount(static_cast<std::uint64_t>(row & column)) % 2 == 0 ? 1 : -1;
}

// The product of a vector with the whole matrix, in place.
void transform(Spectrum& values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & half) == 0) {
        const double a = values[i], b = values[i | half];
        values[i] = a + b;
        values[i | half] = a - b;
      }
    }
  }
}

// The inner product of two rows, of those columns, by which of the bits of their numbers differ:
// rows of a matrix of `size` tell columns modulo `size` apart alone.
Spectrum row_products(std::size_t size, std::int64_t first, std::int64_t width) {
  Spectrum products(size);
  for (std::int64_t column = first + 1; column <= first + width; ++column) {
    products[static_cast<std::size_t>(column) % size] += 1;
  }
  transform(products);
  return products;
}

// How many pairs of rows differ in those bits.
Spectrum pairs_of_rows(std::size_t size, std::int64_t count) {
  Spectrum pairs(size);
  std::fill_n(pairs.begin(), count, 1);
  transform(pairs);
  for (double& value : pairs) {
    value *= value / static_cast<double>(size);
  }
  transform(pairs);
  return pairs;
}

}  // namespace

Tensor hadamard_rows(std::int64_t count, std::int64_t first, std::int64_t width, DType dtype) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(count * width));
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t column = first + 1; column <= first + width; ++column) {
      values.push_back(static_cast<float>(entry(row, column)));
    }
  }
  return Tensor::of<float>({count, width}, values).cast(dtype);
}

// With G the products of the columns, divided by the number of rows, the estimate of element j is
// the sum of G_ij s_i s_j g_i over i: its error is, on average over the signs s, the sum of
// (G_ij g_i)^2 over all i but j. The sum of G_ij^2 is that of products of rows.
double orthogonal_error(std::int64_t count, const Columns& columns, std::int64_t width) {
  const std::size_t size = std::bit_ceil(static_cast<std::size_t>(count));
  const Spectrum pairs = pairs_of_rows(size, count);
  const Spectrum own = row_products(size, columns.first, width),
                 all = row_products(size, 0, columns.all);
  double squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    squares += pairs[i] * own[i] * all[i];
  }
  const double rows = static_cast<double>(count);
  const double error = squares / (rows * rows) - static_cast<double>(width);
  return std::max(error, 0.0) / static_cast<double>(columns.all);
}

}  // namespace antichain::likelihood
