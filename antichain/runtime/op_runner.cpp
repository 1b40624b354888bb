#include "antichain/runtime/op_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "antichain/runtime/frame.h"
#include "antichain/runtime/program.h"

namespace antichain {

namespace {

void bind_if_own(Dim dim, std::int64_t size, const std::vector<std::uint32_t>& own, DimEnv& env) {
  if (dim.is_symbol() && std::find(own.begin(), own.end(), dim.symbol()) != own.end()) {
    env.bind(dim.symbol(), size);
  }
}

// Learns the sizes that an op has found out.
void bind_own_symbols(Op op, std::span<const Tensor> outputs, const std::vector<std::uint32_t>& own,
                      const Backend& backend, DimEnv& env) {
  for (int i = 0; i < op.num_outputs(); ++i) {
    const Tensor& tensor = outputs[static_cast<std::size_t>(i)];
    const VarType& type = op.output(i).type();
    if (!tensor.defined()) {
      continue;
    }
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      bind_if_own(type.shape[axis], tensor.shape()[axis], own, env);
    }
    if (type.value) {
      const auto elements = backend.to_host(tensor).to_vector<std::int64_t>();
      for (std::size_t n = 0; n < type.value->size(); ++n) {
        bind_if_own((*type.value)[n], elements[n], own, env);
      }
    }
  }
}

template <class T>
std::vector<T*> pointers(std::vector<Tensor>& tensors) {
  std::vector<T*> result;
  result.reserve(tensors.size());
  for (Tensor& tensor : tensors) {
    result.push_back(&tensor);
  }
  return result;
}

}  // namespace

void print_to_stdout(std::string_view line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

Tensor placed(const Tensor& value, bool on_host, const Backend& backend) {
  if (!value.is_contiguous()) {
    const Tensor packed = backend.to_host(value).contiguous();
    return on_host ? packed : backend.to_device(packed);
  }
  return on_host ? backend.to_host(value) : backend.to_device(value);
}

OpRunner::OpRunner(Op op, const KernelTable& kernels, const Logger& logger)
    : op_(op),
      where_(op.describe()),
      kernel_(kernels.choose(op, logger)),
      by_reference_(kernel_.name == kReferenceKernel) {
  if (!by_reference_ && !kernel_.runs_regions) {
    return;
  }
  Graph& graph = op.graph();
  for (RegionId region : op.regions()) {
    regions_.emplace_back(graph, graph.vars(graph.region(region).params),
                          graph.vars(graph.region(region).results), std::span<const Op>(), kernels,
                          logger);
  }
  if (op.def().works_on) {
    works_on_ = op.def().works_on(op);
  }
}

OpRunner::OpRunner(OpRunner&&) noexcept = default;
OpRunner::~OpRunner() = default;

std::span<const Program> OpRunner::regions() const { return regions_; }

bool OpRunner::makes(std::size_t output, bool wanted) const {
  return wanted || (regions_.empty() && !kernel_.skips_unwanted) ||
         std::ranges::any_of(works_on_, [&](const WorkedOn& pair) {
           return pair.output == static_cast<int>(output);
         });
}

void OpRunner::check_constraints(const DimEnv& env) const {
  for (const DimConstraint& constraint : op_.graph().constraints(op_)) {
    const std::int64_t left = constraint.left.evaluate(env), right = constraint.right.evaluate(env);
    require<ShapeError>(left == right, "{}: {} do not match: {} is {}, {} is {}", where_,
                        constraint.what, constraint.left.str(), left, constraint.right.str(),
                        right);
  }
}

KernelContext OpRunner::context(RunContext& shared, std::span<const std::uint8_t> wanted,
                                std::any& memory) const {
  KernelContext context;
  context.op = op_;
  context.device = on_host() ? &host_memory() : shared.backend;
  context.attrs = &op_.attrs();
  context.env = &shared.env;
  context.states = shared.states;
  context.print_line = shared.print_line;
  context.wanted = wanted;
  context.where = where_;
  context.memory = &memory;
  return context;
}

void OpRunner::compute(const KernelFunction& kernel, KernelContext& context,
                       RunContext& shared) const {
  if (shared.observers.empty()) {
    kernel(context);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  kernel(context);
  const auto end = std::chrono::steady_clock::now();
  for (RunObserver* observer : shared.observers) {
    observer->ran({op_, where_, kernel_, context.inputs, context.outputs, start, end});
  }
}

std::vector<Tensor> OpRunner::run(std::span<const Tensor* const> inputs,
                                  std::span<const std::uint8_t> wanted, RunContext& shared,
                                  const RunRegion& run_region) const {
  check_constraints(shared.env);
  const Backend& backend = *shared.backend;
  const auto held = backend.hold();
  std::any memory;
  KernelContext seen = context(shared, wanted, memory);
  std::vector<Tensor> arguments, outputs(wanted.size());
  arguments.reserve(inputs.size());
  for (const Tensor* input : inputs) {
    arguments.push_back(placed(*input, on_host(), backend));
  }
  if (!op_.def().shape_from_data && !op_.def().forwards) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Var output = op_.output(static_cast<int>(i));
      // What a body finds the size of is for the op to allocate.
      const bool known = regions_.empty() || is_bound(output.shape(), shared.env);
      if (known && makes(i, wanted[i])) {
        const Shape shape = evaluate(output.shape(), shared.env);
        outputs[i] = seen.device->allocate(output.dtype(), shape);
      }
    }
  }
  const std::vector<const Tensor*> argument_pointers = pointers<const Tensor>(arguments);
  const std::vector<Tensor*> output_pointers = pointers<Tensor>(outputs);
  seen.inputs = argument_pointers;
  seen.outputs = output_pointers;
  seen.run_region = run_region;
  Tensor workspace;
  if (by_reference_ && op_.def().workspace) {
    const auto bytes = static_cast<std::int64_t>(op_.def().workspace(seen).bytes);
    workspace = seen.device->allocate(u8, {bytes});
    seen.workspace = &workspace;
  }
  compute(kernel_.plan ? kernel_.plan(seen) : kernel_.run, seen, shared);
  bind_own_symbols(op_, outputs, op_.graph().found_sizes(op_), backend, shared.env);
  for (Tensor& output : outputs) {
    output = output.defined() ? backend.to_device(output) : output;
  }
  return outputs;
}

std::vector<Tensor> OpRunner::run(std::span<const Tensor* const> inputs,
                                  std::span<const std::uint8_t> wanted, RunContext& shared) const {
  return run(inputs, wanted, shared,
             [this, &shared](int region, std::span<const Tensor* const> arguments,
                             std::span<Tensor* const> results) {
               Frame frame(regions_[static_cast<std::size_t>(region)], shared);
               frame.allocate_memory();
               frame.run(arguments, results);
             });
}

}  // namespace antichain
