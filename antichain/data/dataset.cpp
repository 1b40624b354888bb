#include "antichain/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "antichain/data/shuffled.h"

namespace antichain::data {

namespace {

std::size_t row_bytes(const Tensor& tensor) {
  const std::int64_t rows = tensor.shape()[0];
  return rows == 0 ? 0 : tensor.bytes() / static_cast<std::size_t>(rows);
}

Tensor take_rows(const Tensor& from, std::span<const std::int64_t> numbers) {
  Shape shape = from.shape();
  shape[0] = static_cast<std::int64_t>(numbers.size());
  Tensor taken = Tensor::empty(from.dtype(), std::move(shape));
  const std::size_t bytes = row_bytes(from);
  if (bytes == 0) {
    return taken;
  }
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(taken.raw());
  for (const std::int64_t number : numbers) {
    std::memcpy(target, source + static_cast<std::size_t>(number) * bytes, bytes);
    target += bytes;
  }
  return taken;
}

class Subset final : public Dataset {
 public:
  Subset(DatasetPtr dataset, std::vector<std::int64_t> numbers)
      : dataset_(std::move(dataset)), numbers_(std::move(numbers)) {
    require(dataset_ != nullptr, "there is no dataset to take a subset of");
    for (const std::int64_t number : numbers_) {
      require(number >= 0 && number < dataset_->size(),
              "a subset asks for sample {}; there are {}, counted from 0", number,
              dataset_->size());
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(numbers_.size()); }
  Batch take(std::span<const std::int64_t> numbers) const override {
    check_numbers(numbers);
    std::vector<std::int64_t> originals;
    for (const std::int64_t number : numbers) {
      originals.push_back(numbers_[static_cast<std::size_t>(number)]);
    }
    return dataset_->take(originals);
  }

 private:
  DatasetPtr dataset_;
  std::vector<std::int64_t> numbers_;
};

// Rows from one or more parts, put into the order that was asked for.
class Concat final : public Dataset {
 public:
  explicit Concat(std::vector<DatasetPtr> parts) : parts_(std::move(parts)) {
    require(!parts_.empty(), "concat needs at least one dataset, got none");
    for (const DatasetPtr& part : parts_) {
      require(part != nullptr, "there is no dataset to join");
      starts_.push_back(starts_.back() + part->size());
    }
    const Batch first = parts_[0]->take({});
    for (const DatasetPtr& part : parts_) {
      check_alike(first, part->take({}));
    }
  }
  std::int64_t size() const override { return starts_.back(); }
  Batch take(std::span<const std::int64_t> numbers) const override;

 private:
  static void check_alike(const Batch& a, const Batch& b) {
    const auto alike = [](const Batch::value_type& x, const Batch::value_type& y) {
      // Of a batch of no samples: a tensor whose first axis is not theirs has a row all the same.
      return x.first == y.first && x.second.dtype() == y.second.dtype() &&
             x.second.shape() == y.second.shape() && x.second.shape().at(0) == 0;
    };
    require<ShapeError>(std::equal(a.begin(), a.end(), b.begin(), b.end(), alike),
                        "datasets can be joined only if they are dense and their samples have the "
                        "same names, types and sizes");
  }

  std::vector<DatasetPtr> parts_;
  std::vector<std::int64_t> starts_ = {0};  // of each part, and the end
};

Batch Concat::take(std::span<const std::int64_t> numbers) const {
  check_numbers(numbers);
  // Position in the result of each sample, by part.
  std::vector<std::vector<std::int64_t>> wanted(parts_.size()), positions(parts_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), numbers[i]);
    const auto part = static_cast<std::size_t>(after - starts_.begin() - 1);
    wanted[part].push_back(numbers[i] - starts_[part]);
    positions[part].push_back(static_cast<std::int64_t>(i));
  }
  Batch joined;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (wanted[part].empty() && !(part == 0 && numbers.empty())) {
      continue;
    }
    const Batch taken = parts_[part]->take(wanted[part]);
    for (const auto& [name, rows] : taken) {
      Tensor& target = joined[name];
      if (!target.defined()) {
        Shape shape = rows.shape();
        shape[0] = static_cast<std::int64_t>(numbers.size());
        target = Tensor::empty(rows.dtype(), std::move(shape));
      }
      const std::size_t bytes = row_bytes(rows);
      for (std::size_t i = 0; i < positions[part].size() && bytes > 0; ++i) {
        std::memcpy(static_cast<std::byte*>(target.raw()) +
                        static_cast<std::size_t>(positions[part][i]) * bytes,
                    static_cast<const std::byte*>(rows.raw()) + i * bytes, bytes);
      }
    }
  }
  return joined;
}

}  // namespace

void Dataset::check_numbers(std::span<const std::int64_t> numbers) const {
  for (const std::int64_t number : numbers) {
    require(number >= 0 && number < size(), "there is no sample {}; there are {}, counted from 0",
            number, size());
  }
}

TensorDataset::TensorDataset(const Batch& tensors) {
  require(!tensors.empty(), "a dataset needs at least one tensor, got none");
  for (const auto& [name, tensor] : tensors) {
    require<ShapeError>(tensor.rank() > 0, "tensor '{}' of a dataset has no axis of samples", name);
    require<ShapeError>(tensor.shape()[0] == tensors.begin()->second.shape()[0],
                        "tensor '{}' has {} samples, '{}' has {}", name, tensor.shape()[0],
                        tensors.begin()->first, tensors.begin()->second.shape()[0]);
    tensor.require_host();
    tensors_.emplace(name, tensor.contiguous());
  }
  size_ = tensors_.begin()->second.shape()[0];
}

Batch TensorDataset::take(std::span<const std::int64_t> numbers) const {
  check_numbers(numbers);
  Batch batch;
  for (const auto& [name, tensor] : tensors_) {
    batch.emplace(name, take_rows(tensor, numbers));
  }
  return batch;
}

DatasetPtr subset(DatasetPtr dataset, std::vector<std::int64_t> numbers) {
  return std::make_shared<Subset>(std::move(dataset), std::move(numbers));
}

DatasetPtr concat(std::vector<DatasetPtr> parts) {
  return std::make_shared<Concat>(std::move(parts));
}

std::pair<DatasetPtr, DatasetPtr> hold_out(const DatasetPtr& dataset, std::int64_t count,
                                           std::int64_t seed) {
  require(dataset != nullptr, "there is no dataset to split");
  require(count >= 0 && count <= dataset->size(), "cannot hold out {} of {} samples", count,
          dataset->size());
  const std::vector<std::int64_t> order = shuffled(dataset->size(), seed, 0);
  const auto cut = order.end() - count;
  return {subset(dataset, {order.begin(), cut}), subset(dataset, {cut, order.end()})};
}

Batch take_all(const Dataset& dataset) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(dataset.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return dataset.take(numbers);
}

}  // namespace antichain::data
