#include "tests/backends_cpu/kernel_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/backends/cpu/threads/parallel.h"
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
  op_ = build(graph_, vars).at(0).producer();
}

KernelTrial::KernelTrial(std::vector<Tensor> inputs, const BuildOne& build)
    : KernelTrial(std::move(inputs), Build([&build](Graph&, std::span<const Var> in) {
                    return std::vector<Var>{build(in)};
                  })) {}

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
  const std::vector<std::uint8_t> wanted(outputs.size(), 1);
  context.op = op_;
  context.wanted = wanted;
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
      if (tolerance > 0) {
        conformance::expect_close(got[i], want[i], tolerance, kernel.name + ": " + what);
      } else {
        EXPECT_TRUE(bit_equal(got[i], want[i])) << kernel.name << ": " << what;
      }
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

int expect_kernels_agree(const KernelCase& use, double tolerance, const std::string& what) {
  const KernelTrial trial(use.inputs, use.build);
  if (&trial.op().def() != &use.def) {
    return 0;
  }
  trial.expect_same_bits_on_any_threads(what);
  return trial.expect_kernels_agree(tolerance, what);
}

double tolerance_of(DType dtype, std::int64_t count) {
  constexpr double kRoundings = 16;
  const double walk = dtype == f64 ? std::sqrt(static_cast<double>(count)) : 0;
  return (kRoundings + walk) * conformance::epsilon_of(dtype);
}

}  // namespace antichain::cpu
