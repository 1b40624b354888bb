// CsrPattern: where the elements of a sparse matrix stand, checked and, for products with the
// transposed matrix, turned: by columns instead of rows.
#pragma once

#include <optional>

#include "antichain/backends/cuda/indexing/index_groups.h"

namespace antichain::cuda {

class CsrPattern {
 public:
  /// The columns, below `num_columns`, are input `columns` of an op, the row starts the next one.
  CsrPattern(const KernelContext& context, const Context& device, int columns,
             std::int64_t num_columns, bool turned);
  /// Enqueues checking and turning; once where the pattern is a constant of the graph.
  void prepare(const KernelContext& run);

  // Of a turned pattern: where each column begins, and for its elements, those of a column as they
  // come, their numbers and rows. All are long long.
  const void* column_starts() const { return turned_->groups.starts(); }
  const void* order() const { return turned_->groups.order(); }
  const void* rows() const { return turned_->rows->data(); }

 private:
  struct Turned {
    IndexGroups groups;
    std::shared_ptr<Buffer> rows;
    Launch find_rows;
  };
  int columns_;
  Launch check_;
  std::optional<Turned> turned_;
  ConstantWork work_;
};

/// Returns the kernel that reports what is wrong with a pattern.
std::string pattern_check_text(DType index);
/// Returns the kernel that finds the rows of elements in any order.
std::string row_search_text(DType index);
/// Returns C++ for the column of an element, as its group.
std::string_view column_group();

}  // namespace antichain::cuda
