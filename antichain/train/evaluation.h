// How a model does on a data set that it is not trained on.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "antichain/data/batches.h"
#include "antichain/runtime/executable.h"

namespace antichain {

/// How a model does on a data set.
struct Score {
  double loss = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();  // NaN: the model has none
  std::map<std::string, double> metrics = {};                  // by name
};

/// Something that is measured of every example beside loss and accuracy.
struct Metric {
  std::string name;  // "precision_at_1"
  // false: the mean over the examples; true: the sum over the examples divided by the sum of the
  // most that each of them allows, which the executable returns behind the values.
  bool is_ratio = false;
};

/// A data set to look at after every epoch. The executable returns the loss of each example, then,
/// where that makes sense, 1 or 0 for a right or wrong answer, then the values of the metrics, in
/// their order; it writes no state.
struct Evaluation {
  std::string name;  // "validation", "test"
  const Executable& executable;
  data::DatasetPtr set;
  std::int64_t batch = 256;
  std::vector<Metric> metrics = {};
};

/// Returns loss, accuracy and metrics over the whole set; throws InvalidArgument when the
/// executable does not return what it should.
Score evaluate(const Evaluation& evaluation);

}  // namespace antichain
