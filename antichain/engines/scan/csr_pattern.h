// Where the elements of a sparse matrix are, without their values: what is known of a Jacobian
// before training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace antichain::scan {

/// Returns the number of a row, a column or an element as an index into a vector.
inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Holds the positions of a sparse matrix in CSR form. One may hold a zero; all others always do.
struct CsrPattern {
  std::int64_t num_columns = 0;
  std::vector<std::int32_t> row_starts = {0};  // one more than there are rows
  std::vector<std::int32_t> columns = {};      // ascending within a row

  std::int64_t rows() const { return static_cast<std::int64_t>(row_starts.size()) - 1; }
  std::int64_t stored() const { return static_cast<std::int64_t>(columns.size()); }
  std::span<const std::int32_t> row(std::int64_t index) const {
    const std::int32_t start = row_starts[at(index)];
    return std::span(columns).subspan(at(start), at(row_starts[at(index) + 1] - start));
  }
  /// Returns the share of the elements that are always zero.
  double sparsity() const;
  /// Ends the row that elements were added to; throws NotSupported when there are 2^31 or more.
  void end_row();
  bool operator==(const CsrPattern&) const = default;
};

CsrPattern identity_pattern(std::int64_t size);
/// Returns a matrix all of whose elements are stored.
CsrPattern full_pattern(std::int64_t rows, std::int64_t columns);
/// Returns the row of every stored element.
std::vector<std::int32_t> rows_of_elements(const CsrPattern& pattern);

/// Returns where a · b has elements: the symbolic part of the product. Throws NotSupported when
/// they are more than `most`.
CsrPattern product_pattern(const CsrPattern& a, const CsrPattern& b,
                           std::int64_t most = std::int64_t{1} << 31);
/// Returns how many multiplications a · b takes; each is followed by an addition.
std::int64_t count_multiplications(const CsrPattern& a, const CsrPattern& b);

/// Where a + b has elements, and which element of a and of b each of them is; one that is not there
/// is element stored() of it.
struct PatternSum {
  CsrPattern pattern;
  std::vector<std::int32_t> of_a, of_b;
};
PatternSum sum_pattern(const CsrPattern& a, const CsrPattern& b);

}  // namespace antichain::scan
