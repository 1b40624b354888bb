#include "antichain/data/sparse_rows.h"

#include <utility>

#include "antichain/base/error.h"

namespace antichain::data {

void SparseRows::add(std::span<const std::int32_t> columns, std::span<const float> values) {
  require(columns.size() == values.size(), "a sparse row has {} columns but {} values",
          columns.size(), values.size());
  for (const std::int32_t column : columns) {
    require(column >= 0 && column < num_columns_,
            "a sparse row names column {}; there are {}, counted from 0", column, num_columns_);
  }
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  values_.insert(values_.end(), values.begin(), values.end());
  starts_.push_back(static_cast<std::int64_t>(columns_.size()));
}

SparseRows SparseRows::take(std::span<const std::int64_t> numbers) const {
  SparseRows taken(num_columns_);
  for (const std::int64_t number : numbers) {
    taken.add(columns(number), values(number));
  }
  return taken;
}

std::int64_t SparseRows::num_empty_rows() const {
  std::int64_t count = 0;
  for (std::size_t row = 1; row < starts_.size(); ++row) {
    count += starts_[row] == starts_[row - 1] ? 1 : 0;
  }
  return count;
}

Tensor SparseRows::dense() const {
  Tensor result = Tensor::zeros(f32, {size(), num_columns_});
  for (std::int64_t row = 0; row < size(); ++row) {
    float* const out = result.data<float>() + row * num_columns_;
    for (std::size_t i = 0; i < columns(row).size(); ++i) {
      out[columns(row)[i]] += values(row)[i];
    }
  }
  return result;
}

void SparseRows::put_pattern(Batch& batch, const std::string& name) const {
  require<ShapeError>(num_entries() <= kMost,
                      "'{}' has {} entries, more than 32 bits can number; take fewer rows", name,
                      num_entries());
  const std::vector<std::int32_t> starts(starts_.begin(), starts_.end());
  batch[name + "_columns"] = Tensor::of<std::int32_t>({num_entries()}, columns_);
  batch[name + "_row_starts"] = Tensor::of<std::int32_t>({size() + 1}, starts);
}

void SparseRows::put(Batch& batch, const std::string& name) const {
  put_pattern(batch, name);
  batch[name + "_values"] = Tensor::of<float>({num_entries()}, values_);
}

SparseDataset::SparseDataset(SparseRows features, SparseRows labels)
    : features_(std::move(features)), labels_(std::move(labels)) {
  require<ShapeError>(features_.size() == labels_.size(),
                      "there are {} points with features but {} with labels", features_.size(),
                      labels_.size());
}

Batch SparseDataset::take(std::span<const std::int64_t> numbers) const {
  check_numbers(numbers);
  Batch batch;
  features_.take(numbers).put(batch, "x");
  labels_.take(numbers).put_pattern(batch, "y");
  return batch;
}

}  // namespace antichain::data
