#include "benchmarks/gpu/gradient_error.h"

#include <algorithm>
#include <cmath>

#include "antichain/optim/gradient_step.h"

namespace antichain::bench {

namespace {

// Far above the rounding of f64, far below any gradient that trains something.
constexpr double kVanishes = 1e-9;

struct Gradients {
  std::vector<std::string> names;  // of the parameters
  std::vector<std::vector<double>> values;
};

Gradients gradients_of(const StepModel& model, DType precision, Session& session,
                       const CompilerOptions& options) {
  Graph graph = session.graph();
  const Var loss = model.loss(graph, precision);
  const std::vector<Var> parameters = optim::trained_parameters("gradient_error", loss, {});
  const Executable run = session.compile(grad(loss, parameters), {.compiler = options});
  Gradients result;
  for (const Var parameter : parameters) {
    result.names.push_back(state_name(parameter));
  }
  const Results gradients = run(model.feeds);
  for (const Tensor& gradient : gradients.tensors()) {
    result.values.push_back(gradient.to_vector<double>());
  }
  return result;
}

void copy_as_f64(const StateStore& from, StateStore& to) {
  for (const auto& [name, value] : from.all()) {
    to.set(name, is_float(value.dtype()) ? value.cast(f64) : value);
  }
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    result = std::max(result, std::abs(value));
  }
  return result;
}

double largest_difference(const std::string& name, const std::vector<double>& found,
                          const std::vector<double>& exact) {
  double result = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    require<DataError>(std::isfinite(found[i]) && std::isfinite(exact[i]),
                       "the gradient of '{}' is not finite", name);
    result = std::max(result, std::abs(found[i] - exact[i]));
  }
  return result;
}

}  // namespace

GradientError gradient_error(const GpuCase& gpu_case, const CompilerOptions& options,
                             const std::string& device) {
  const StepCase& step = gpu_case.step;
  const std::int64_t batch = gpu_case.gradient_batch > 0 ? gpu_case.gradient_batch : step.batch;
  const StepModel model = step.model(batch);
  const std::unique_ptr<Session> session = step.session(device);
  const Gradients found = gradients_of(model, step.precision, *session, options);
  Session oracle({.device = gpu_case.f64_on_device ? device : "cpu"});
  copy_as_f64(session->states(), oracle.states());
  const Gradients exact = gradients_of(model, f64, oracle, {.level = 1});

  double scale = 0;
  for (const std::vector<double>& gradient : exact.values) {
    scale = std::max(scale, largest(gradient));
  }
  GradientError error{.batch = batch, .oracle = to_string(oracle.backend().device())};
  for (std::size_t i = 0; i < exact.values.size(); ++i) {
    const std::string& name = exact.names[i];
    const double difference = largest_difference(name, found.values[i], exact.values[i]);
    const double size = largest(exact.values[i]);
    if (size > kVanishes * scale && difference / size >= error.largest) {
      error.largest = difference / size;
      error.parameter = name;
    }
  }
  return error;
}

}  // namespace antichain::bench
