#include "antichain/runtime/measured_time.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "antichain/graph/clone.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/runtime/frame.h"
#include "antichain/runtime/program.h"

namespace antichain {

namespace {

constexpr int kMostRuns = 5;
constexpr double kEnoughSeconds = 0.02;  // of all runs of an op together

bool has_elements(Var value, const DimEnv& sizes) {
  return is_bound(value.shape(), sizes) && numel(evaluate(value.shape(), sizes)) > 0;
}

double seconds_of_a_run(Frame& frame, std::span<const Tensor> arguments, std::size_t num_results) {
  std::vector<const Tensor*> given;
  for (const Tensor& argument : arguments) {
    given.push_back(&argument);
  }
  std::vector<Tensor> results(num_results);
  std::vector<Tensor*> targets;
  for (Tensor& result : results) {
    targets.push_back(&result);
  }
  double fastest = std::numeric_limits<double>::infinity(), all = 0;
  for (int run = 0; run <= kMostRuns && all < kEnoughSeconds; ++run) {
    const auto start = std::chrono::steady_clock::now();
    frame.run(given, targets);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    all += taken.count();
    fastest = std::min(fastest, taken.count());
  }
  return fastest;
}

}  // namespace

std::optional<double> measured_seconds(Op op, const Backend& backend, const KernelTable& kernels,
                                       const DimEnv& sizes) {
  const auto fits = [&sizes](Var value) { return has_elements(value, sizes); };
  const std::vector<Var> inputs = op.inputs(), outputs = op.outputs();
  if (&op.def() == &input_def() || op.def().effect != Effect::none || op.def().shape_from_data ||
      !std::ranges::all_of(inputs, fits) || !std::ranges::all_of(outputs, fits)) {
    return std::nullopt;
  }
  Graph& source = op.graph();
  Graph graph(source.dim_pool(), source.engines());
  Cloner cloner(source, graph);
  std::vector<Var> copies, params;  // an input that is read twice is one parameter
  std::vector<Tensor> arguments;
  for (Var input : inputs) {
    if (const auto known = std::ranges::find(inputs, input) - inputs.begin();
        known < std::ssize(copies)) {
      copies.push_back(copies[static_cast<std::size_t>(known)]);
      continue;
    }
    const Shape shape = evaluate(input.shape(), sizes);
    const std::vector<DimSpec> dims(input.shape().begin(), input.shape().end());
    params.push_back(graph.input("input " + std::to_string(params.size()), input.dtype(), dims));
    copies.push_back(params.back());
    // Numbers that are indices stay inside whatever they point into.
    const double element = is_float(input.dtype()) ? 1 : 0;
    arguments.push_back(backend.to_device(Tensor::full(input.dtype(), shape, element)));
  }
  const std::vector<Var> results = cloner.copy_with(op, copies, op.attrs()).outputs();
  const Logger quiet(LogLevel::silent);
  const Program program(graph, params, results, {}, kernels, quiet);
  if (std::ranges::any_of(program.steps(), [](const Program::Step& step) {
        return !step.runner.regions().empty();
      })) {
    return std::nullopt;
  }
  RunContext shared{.backend = &backend, .env = sizes};
  Frame frame(program, shared);
  frame.allocate_memory();
  return seconds_of_a_run(frame, arguments, results.size());
}

}  // namespace antichain
