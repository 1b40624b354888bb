// Evaluator: computes the ops of a graph as they are added. What makes a graph an eager one.
#pragma once

#include "antichain/graph/var.h"
#include "antichain/tensor/tensor.h"

namespace antichain {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Computes the outputs of an op of the root region, unless they are known already.
  virtual void evaluate(Op op) = 0;
  /// Returns the value; throws InvalidArgument when there is none.
  virtual const Tensor& value(Var var) const = 0;
};

}  // namespace antichain
