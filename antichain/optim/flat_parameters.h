// Several parameters as one vector, and the loss as a function of it.
#pragma once

#include <string>
#include <vector>

#include "antichain/autodiff/grad.h"

namespace antichain::optim {

class FlatParameters {
 public:
  /// Takes the loss as a function of these parameters, differentiated as the options say.
  FlatParameters(Var loss, const std::vector<Var>& parameters, const GradOptions& by);

  DType dtype() const { return dtype_; }
  Dim size() const { return size_; }
  /// Returns values of the parameters' shapes as one vector.
  Var join(const std::vector<Var>& values) const;
  /// Cuts a vector into values of the parameters' types.
  std::vector<Var> split(Var vector) const;

  struct Evaluation {
    Var loss;      // f64
    Var gradient;  // a vector
  };
  /// Builds the loss and its gradient at another point, in the current region.
  Evaluation at(Var point) const;
  /// Builds the loss alone (f64) likewise.
  Var loss_at(Var point) const;

 private:
  std::vector<Var> results_at(const std::vector<Var>& values) const;

  std::vector<Var> parameters_;
  EngineChoice engine_;
  RegionId region_;            // the loss, then where its gradient is cut; takes the parameters
                               // and what else it depends on
  std::vector<Var> captured_;  // the latter
  DType dtype_ = DType::f32;
  Dim size_ = 0;
};

}  // namespace antichain::optim
