#include "antichain/optim/flat_parameters.h"

#include "antichain/autodiff/outline.h"
#include "antichain/graph/clone.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::optim {

FlatParameters::FlatParameters(Var loss, const std::vector<Var>& parameters, const GradOptions& by)
    : parameters_(parameters), engine_(by.engine) {
  std::vector<Var> results = {loss};
  results.insert(results.end(), by.at.begin(), by.at.end());
  // The call itself has no reader and never runs.
  const Op call = outline(results, parameters_, engine_);
  region_ = call.regions()[0];
  const std::vector<Var> inputs = call.inputs();
  captured_.assign(inputs.begin() + static_cast<std::ptrdiff_t>(parameters_.size()), inputs.end());
  for (Var parameter : parameters_) {
    size_ = size_ + numel(parameter.shape());
    dtype_ = parameter.dtype() == DType::f64 ? DType::f64 : dtype_;
  }
}

Var FlatParameters::join(const std::vector<Var>& values) const {
  std::vector<Var> parts;
  for (Var value : values) {
    parts.push_back(reshape(cast(value, dtype_), {numel(value.shape())}));
  }
  return concat(parts, 0);
}

std::vector<Var> FlatParameters::split(Var vector) const {
  Dims sizes;
  for (Var parameter : parameters_) {
    sizes.push_back(numel(parameter.shape()));
  }
  std::vector<Var> values = antichain::split(vector, sizes, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = cast(reshape(values[i], parameters_[i].shape()), parameters_[i].dtype());
  }
  return values;
}

std::vector<Var> FlatParameters::results_at(const std::vector<Var>& values) const {
  std::vector<Var> arguments = values;
  arguments.insert(arguments.end(), captured_.begin(), captured_.end());
  return inline_region(values.front().graph(), region_, arguments);
}

Var FlatParameters::loss_at(Var point) const {
  return cast(results_at(split(point))[0], DType::f64);
}

FlatParameters::Evaluation FlatParameters::at(Var point) const {
  const std::vector<Var> values = split(point);
  const std::vector<Var> results = results_at(values);
  const GradOptions by{.engine = engine_, .at = {results.begin() + 1, results.end()}};
  return {cast(results[0], DType::f64), join(grad(results[0], values, by))};
}

}  // namespace antichain::optim
