#include "tests/backends_cpu/kernel_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/backends/cpu/parallel.h"
#include "antichain/graph/traversal.h"
#include "antichain/passes/simplify.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"

namespace antichain::cpu {

namespace {

struct Built {
  Session session;
  Graph graph = session.graph();
  std::vector<Var> outputs;
  Feeds feeds;

  explicit Built(const KernelCase& use) {
    std::vector<Var> inputs;
    for (const Tensor& value : use.inputs) {
      const std::string name = "in" + std::to_string(inputs.size());
      const std::vector<DimSpec> shape(value.shape().begin(), value.shape().end());
      inputs.push_back(graph.input(name, value.dtype(), shape));
      feeds[name] = value;
    }
    outputs = use.build(graph, inputs);
  }

  std::vector<Tensor> run(const KernelTable& kernels) {
    GraphCopy copy = simplify(graph, outputs, {}, {.rewrites = false});
    return Executable(std::move(copy.graph), copy.values, {}, session.backend(), kernels,
                      session.logger(), session.states())(feeds)
        .tensors();
  }

  Op use_of(const OpDef& def) {
    for (const Op op : schedule(graph, outputs)) {
      if (&op.def() == &def) {
        return op;
      }
    }
    return {};
  }
};

}  // namespace

int expect_kernels_agree(const KernelCase& use, double tolerance, const std::string& what) {
  Built built(use);
  const Op op = built.use_of(use.def);
  if (!op.valid()) {  // e.g. a transpose that changes nothing was not built
    return 0;
  }
  const std::vector<Tensor> want = built.run(KernelTable());
  const int threads_before = num_threads();
  int agreed = 0;
  for (const Kernel& kernel : built.session.backend().kernels().candidates(use.def)) {
    if (!kernel.supports(op).yes) {
      continue;
    }
    ++agreed;
    KernelTable only;
    only.add(use.def, kernel);
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3, 4, 7}) {
      set_num_threads(threads);
      const std::vector<Tensor> got = built.run(only);
      const std::string label =
          what + ", kernel " + kernel.name + ", " + std::to_string(threads) + " threads";
      first = first.empty() ? got : first;
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(bit_equal(got[i], first[i])) << label << ": the bits differ from one thread's";
        if (tolerance == 0) {
          EXPECT_TRUE(bit_equal(got[i], want[i])) << label << ": not the reference's bits";
        } else {
          conformance::expect_close(got[i], want[i], tolerance, label);
        }
      }
    }
    set_num_threads(threads_before);
  }
  return agreed;
}

double tolerance_of(DType dtype, std::int64_t count) {
  constexpr double kRoundings = 16;
  const double walk = dtype == f64 ? std::sqrt(static_cast<double>(count)) : 0;
  return (kRoundings + walk) * conformance::epsilon_of(dtype);
}

std::int64_t Draw::size() {
  const std::int64_t kind = between(0, 19);
  if (kind == 0) {
    return 0;
  }
  if (kind <= 2) {
    return 1;
  }
  if (kind <= 5) {
    return one_of<std::int64_t>({31, 64, 67, 127, 257, 1021});
  }
  return one_of<std::int64_t>({2, 3, 4, 5, 7, 8, 11, 13, 16, 17});
}

Shape Draw::shape(std::int64_t rank, std::int64_t max_elements) {
  for (;;) {
    Shape result;
    for (std::int64_t i = 0; i < rank; ++i) {
      result.push_back(size());
    }
    if (numel(result) <= max_elements) {
      return result;
    }
  }
}

Tensor Draw::values(DType dtype, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> elements(static_cast<std::size_t>(numel(shape)));
  for (double& element : elements) {
    element = draw(generator_);
    element = is_float(dtype) ? element : std::floor(element);
  }
  return Tensor::of<double>(shape, elements).cast(dtype);
}

Tensor Draw::indices(const Shape& shape, std::int64_t size) {
  const DType dtype = one_of({i32, i64});
  std::vector<std::int64_t> elements(static_cast<std::size_t>(numel(shape)));
  for (std::int64_t& element : elements) {
    element = between(0, size - 1);
  }
  return Tensor::of<std::int64_t>(shape, elements).cast(dtype);
}

}  // namespace antichain::cpu
