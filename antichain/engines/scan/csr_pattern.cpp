#include "antichain/engines/scan/csr_pattern.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "antichain/base/error.h"

namespace antichain::scan {

double CsrPattern::sparsity() const {
  const double elements = static_cast<double>(rows()) * static_cast<double>(num_columns);
  return elements == 0 ? 0 : 1 - static_cast<double>(stored()) / elements;
}

void CsrPattern::end_row() {
  require<NotSupported>(columns.size() <= at(std::numeric_limits<std::int32_t>::max()),
                        "a sparse Jacobian has more than 2^31 elements, which is more than engine "
                        "'scan' can number");
  row_starts.push_back(static_cast<std::int32_t>(columns.size()));
}

CsrPattern identity_pattern(std::int64_t size) {
  CsrPattern pattern{.num_columns = size};
  pattern.row_starts.resize(at(size) + 1);
  pattern.columns.resize(at(size));
  std::iota(pattern.row_starts.begin(), pattern.row_starts.end(), 0);
  std::iota(pattern.columns.begin(), pattern.columns.end(), 0);
  return pattern;
}

CsrPattern full_pattern(std::int64_t rows, std::int64_t columns) {
  CsrPattern pattern{.num_columns = columns};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      pattern.columns.push_back(static_cast<std::int32_t>(column));
    }
    pattern.end_row();
  }
  return pattern;
}

std::vector<std::int32_t> rows_of_elements(const CsrPattern& pattern) {
  std::vector<std::int32_t> rows;
  rows.reserve(pattern.columns.size());
  for (std::int64_t row = 0; row < pattern.rows(); ++row) {
    rows.insert(rows.end(), pattern.row(row).size(), static_cast<std::int32_t>(row));
  }
  return rows;
}

// Row by row (Gustavson, 1978): a row of the product has the columns of those rows of b that the
// row of a names. Where these are many of all columns, looking at each of them is faster than
// sorting.
CsrPattern product_pattern(const CsrPattern& a, const CsrPattern& b, std::int64_t most) {
  ensure(a.num_columns == b.rows(), "a product of sparse matrices with {} columns and {} rows",
         a.num_columns, b.rows());
  constexpr std::int64_t kSortedShare = 16;  // of the columns, below which sorting is faster
  CsrPattern product{.num_columns = b.num_columns};
  product.row_starts.reserve(a.row_starts.size());
  std::vector<std::int64_t> seen_in(at(b.num_columns), -1);
  std::vector<std::int32_t> found;
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    found.clear();
    for (const std::int32_t inner : a.row(row)) {
      if (static_cast<std::int64_t>(found.size()) == b.num_columns) {
        break;  // a full row gets no fuller
      }
      for (const std::int32_t column : b.row(inner)) {
        if (seen_in[at(column)] != row) {
          seen_in[at(column)] = row;
          found.push_back(column);
        }
      }
    }
    if (static_cast<std::int64_t>(found.size()) * kSortedShare < b.num_columns) {
      std::ranges::sort(found);
      product.columns.insert(product.columns.end(), found.begin(), found.end());
    } else {
      for (std::int64_t column = 0; column < b.num_columns; ++column) {
        if (seen_in[at(column)] == row) {
          product.columns.push_back(static_cast<std::int32_t>(column));
        }
      }
    }
    require<NotSupported>(product.stored() <= most,
                          "engine 'scan': a product of two sparse Jacobians has more than {} "
                          "elements per example, which is too many; ask for a smaller chunk of "
                          "algorithm hybrid, or for serial",
                          most);
    product.end_row();
  }
  return product;
}

std::int64_t count_multiplications(const CsrPattern& a, const CsrPattern& b) {
  ensure(a.num_columns == b.rows(), "a product of sparse matrices with {} columns and {} rows",
         a.num_columns, b.rows());
  std::int64_t count = 0;
  for (const std::int32_t inner : a.columns) {
    count += static_cast<std::int64_t>(b.row(inner).size());
  }
  return count;
}

PatternSum sum_pattern(const CsrPattern& a, const CsrPattern& b) {
  ensure(a.rows() == b.rows() && a.num_columns == b.num_columns,
         "a sum of sparse matrices of different sizes");
  PatternSum sum;
  sum.pattern.num_columns = a.num_columns;
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    std::int32_t of_a = a.row_starts[at(row)], of_b = b.row_starts[at(row)];
    const std::int32_t end_a = a.row_starts[at(row) + 1], end_b = b.row_starts[at(row) + 1];
    while (of_a < end_a || of_b < end_b) {
      const auto none = static_cast<std::int32_t>(a.num_columns);
      const std::int32_t in_a = of_a < end_a ? a.columns[at(of_a)] : none;
      const std::int32_t in_b = of_b < end_b ? b.columns[at(of_b)] : none;
      const std::int32_t column = std::min(in_a, in_b);
      sum.pattern.columns.push_back(column);
      sum.of_a.push_back(in_a == column ? of_a++ : static_cast<std::int32_t>(a.stored()));
      sum.of_b.push_back(in_b == column ? of_b++ : static_cast<std::int32_t>(b.stored()));
    }
    sum.pattern.end_row();
  }
  return sum;
}

}  // namespace antichain::scan
