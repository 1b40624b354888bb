// Dataset: samples by number, taken as named tensors that a graph can be fed with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "antichain/tensor/tensor.h"

namespace antichain::data {

/// Named tensors whose first axes count samples: what an Executable is fed with.
using Batch = std::map<std::string, Tensor, std::less<>>;

class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  /// Returns how many samples there are.
  virtual std::int64_t size() const = 0;
  /// Copies the samples with these numbers, in this order; throws InvalidArgument on a number that
  /// is not within [0, size). Several threads may call it at once.
  virtual Batch take(std::span<const std::int64_t> numbers) const = 0;

 protected:
  /// Throws InvalidArgument unless every number is one of a sample.
  void check_numbers(std::span<const std::int64_t> numbers) const;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

/// Holds named tensors and hands out copies of their rows.
class TensorDataset final : public Dataset {
 public:
  /// Shares the tensors; throws ShapeError when their first axes differ.
  explicit TensorDataset(const Batch& tensors);
  std::int64_t size() const override { return size_; }
  Batch take(std::span<const std::int64_t> numbers) const override;
  /// Returns all samples, without a copy.
  const Batch& tensors() const { return tensors_; }

 private:
  Batch tensors_;
  std::int64_t size_ = 0;
};

/// Returns the samples of `dataset` with these numbers as a dataset of their own.
DatasetPtr subset(DatasetPtr dataset, std::vector<std::int64_t> numbers);
/// Returns the samples of all parts, one part after the other. The parts must give tensors of the
/// same names, types and sizes of a sample.
DatasetPtr concat(std::vector<DatasetPtr> parts);
/// Splits off `count` samples chosen by `seed`; returns (the others, those).
std::pair<DatasetPtr, DatasetPtr> hold_out(const DatasetPtr& dataset, std::int64_t count,
                                           std::int64_t seed = 0);
/// Returns every sample of a dataset as one batch.
Batch take_all(const Dataset& dataset);

/// A set as it is published. A part that a set does not have is null.
struct Splits {
  DatasetPtr train, validation, test;
  std::int64_t num_classes = 0;
  std::vector<std::string> class_names = {};  // empty where the classes have none
  std::int64_t num_features = 0;  // words of a vocabulary, columns of a sparse input; 0: dense
  std::vector<std::string> feature_names = {};  // the words
};

}  // namespace antichain::data
