// SparseRows: a matrix in CSR form on the host, row after row; what antichain/ops/products/sparse.h
// takes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "antichain/data/dataset.h"

namespace antichain::data {

class SparseRows {
 public:
  /// The most rows, columns and entries that can be put into a batch, which numbers them by i32.
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

  explicit SparseRows(std::int64_t num_columns) : num_columns_(num_columns) {}

  /// Adds a row; throws InvalidArgument unless there is a value for each of the columns and these
  /// exist.
  void add(std::span<const std::int32_t> columns, std::span<const float> values);

  std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::int64_t num_columns() const { return num_columns_; }
  std::int64_t num_entries() const { return starts_.back(); }
  /// Returns how many rows have no entry.
  std::int64_t num_empty_rows() const;
  std::span<const std::int32_t> columns(std::int64_t row) const { return part(columns_, row); }
  std::span<const float> values(std::int64_t row) const { return part(values_, row); }

  /// Copies the rows with these numbers.
  SparseRows take(std::span<const std::int64_t> numbers) const;
  /// Returns f32[rows, columns] with a zero wherever nothing is stored.
  Tensor dense() const;
  /// Puts `name`_columns i32[entries] and `name`_row_starts i32[rows + 1] into the batch.
  void put_pattern(Batch& batch, const std::string& name) const;
  /// Puts `name`_values f32[entries] beside the pattern.
  void put(Batch& batch, const std::string& name) const;

 private:
  template <class T>
  std::span<const T> part(const std::vector<T>& all, std::int64_t row) const {
    const auto first = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row)]);
    const auto last = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row) + 1]);
    return std::span(all).subspan(first, last - first);
  }

  std::int64_t num_columns_;
  std::vector<std::int64_t> starts_ = {0};
  std::vector<std::int32_t> columns_;
  std::vector<float> values_;
};

/// Holds points with sparse features and any number of labels each. A batch has the features as
/// x_values, x_columns, x_row_starts and the labels as y_columns, y_row_starts.
class SparseDataset final : public Dataset {
 public:
  /// Throws ShapeError when there are not as many points with features as with labels.
  SparseDataset(SparseRows features, SparseRows labels);
  std::int64_t size() const override { return features_.size(); }
  Batch take(std::span<const std::int64_t> numbers) const override;
  const SparseRows& features() const { return features_; }
  const SparseRows& labels() const { return labels_; }

 private:
  SparseRows features_, labels_;
};

}  // namespace antichain::data
