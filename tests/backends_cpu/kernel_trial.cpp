#include "tests/backends_cpu/kernel_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/backends/cpu/parallel.h"
#include "tests/conformance/compare.h"

namespace antichain::cpu {

namespace {

const Backend& backend() {
  static const std::unique_ptr<Backend> instance = make_cpu_backend();
  return *instance;
}

}  // namespace

KernelTrial::KernelTrial(std::vector<Tensor> inputs, const Build& build)
    : inputs_(std::move(inputs)) {
  std::vector<Var> vars;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Shape& shape = inputs_[i].shape();
    vars.push_back(graph_.input("in" + std::to_string(i), inputs_[i].dtype(),
                                std::vector<DimSpec>(shape.begin(), shape.end())));
  }
  op_ = build(vars).producer();
}

std::vector<Kernel> KernelTrial::kernels() const {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : backend().kernels().candidates(op_.def())) {
    if (kernel.supports(op_).yes) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

std::vector<Tensor> KernelTrial::run(const Kernel& kernel, std::span<const Tensor> inputs) const {
  const DimEnv env;
  std::vector<Tensor> outputs;
  for (Var output : op_.outputs()) {
    outputs.push_back(Tensor::full(output.dtype(), evaluate(output.shape(), env), 77));
  }
  std::vector<const Tensor*> input_pointers;
  for (const Tensor& input : inputs) {
    input_pointers.push_back(&input);
  }
  std::vector<Tensor*> output_pointers;
  for (Tensor& output : outputs) {
    output_pointers.push_back(&output);
  }
  KernelContext context;
  context.inputs = input_pointers;
  context.outputs = output_pointers;
  context.attrs = &op_.attrs();
  context.env = &env;
  const KernelFunction compute = kernel.plan ? kernel.plan(context) : kernel.run;
  compute(context);
  std::vector<Tensor> first;
  for (const Tensor& output : outputs) {
    first.push_back(output.clone());
  }
  compute(context);
  EXPECT_TRUE(std::ranges::equal(first, outputs, bit_equal)) << kernel.name << " changes";
  return first;
}

std::vector<Tensor> KernelTrial::run(const Kernel& kernel) const {
  if (kernel.strided_inputs) {
    return run(kernel, inputs_);
  }
  std::vector<Tensor> packed;
  for (const Tensor& input : inputs_) {
    packed.push_back(input.contiguous());
  }
  return run(kernel, packed);
}

std::vector<Tensor> KernelTrial::run_reference() const {
  return run({.name = "reference", .supports = nullptr, .run = op_.def().reference});
}

int KernelTrial::expect_kernels_agree(double tolerance, const std::string& what) const {
  const std::vector<Tensor> want = run_reference();
  const std::vector<Kernel> all = kernels();
  for (const Kernel& kernel : all) {
    const std::vector<Tensor> got = run(kernel);
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i], want[i], tolerance, kernel.name + ": " + what);
    }
  }
  return static_cast<int>(all.size());
}

void KernelTrial::expect_same_bits_on_any_threads(const std::string& what) const {
  const int before = num_threads();
  for (const Kernel& kernel : kernels()) {
    set_num_threads(1);
    const std::vector<Tensor> alone = run(kernel);
    for (int threads : {2, 3, 4, 7}) {
      set_num_threads(threads);
      EXPECT_TRUE(std::ranges::equal(run(kernel), alone, bit_equal))
          << kernel.name << " on " << threads << " threads: " << what;
    }
  }
  set_num_threads(before);
}

std::int64_t Draw::one_of(std::span<const std::int64_t> values) {
  return values[static_cast<std::size_t>(between(0, std::ssize(values) - 1))];
}

std::int64_t Draw::between(std::int64_t first, std::int64_t last) {
  return std::uniform_int_distribution<std::int64_t>(first, last)(generator_);
}

Tensor Draw::tensor(DType dtype, const Shape& shape) {
  std::uniform_real_distribution<double> real(-2, 2);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = is_float(dtype) ? real(generator_) : static_cast<double>(between(-128, 127));
  }
  return Tensor::of<double>(shape, values).cast(dtype);
}

Tensor Draw::view(DType dtype, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  const int axis = static_cast<int>(between(0, rank - 1));
  const auto at = static_cast<std::size_t>(axis);
  Shape other = shape;
  switch (between(0, 4)) {
    case 0: {  // the last two axes swapped
      std::swap(other.end()[-1], other.end()[-2]);
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::swap(order.end()[-1], order.end()[-2]);
      return tensor(dtype, other).transpose(order);
    }
    case 1:  // a part of a larger one
      other[at] += 3;
      return tensor(dtype, other).slice(axis, 2, shape[at]);
    case 2:  // every second
      other[at] *= 2;
      return tensor(dtype, other).slice(axis, 0, shape[at], 2);
    case 3:  // backwards
      return shape[at] == 0 ? tensor(dtype, shape)
                            : tensor(dtype, shape).slice(axis, shape[at] - 1, shape[at], -1);
    default:  // repeated
      other[at] = 1;
      return tensor(dtype, other).broadcast_to(shape);
  }
}

}  // namespace antichain::cpu
