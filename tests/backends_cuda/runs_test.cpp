// Element-wise ops on values so large that threads have several runs of elements in flight, against
// the CPU.
#include <gtest/gtest.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::runs_test {

using Vars = std::vector<Var>;
using Build = std::function<Vars(Graph& graph, Var x)>;

class CudaRuns : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

// Whole numbers: no device rounds what is computed from them here.
Tensor small_numbers(DType dtype, const Shape& shape) {
  Tensor numbers = Tensor::empty(i32, shape);
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    numbers.data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 % 11);
  }
  return numbers.cast(dtype);
}

std::vector<Tensor> run_on(const std::string& device, const Build& build, const Tensor& x) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Var in = graph.input("x", x.dtype(), {x.shape().begin(), x.shape().end()});
  return session.compile(build(graph, in))({{"x", x}}).tensors();
}

void expect_like_cpu(const Build& build, const Tensor& x) {
  const std::vector<Tensor> want = run_on("cpu", build, x), got = run_on("cuda", build, x);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(bit_equal(want[i], got[i])) << "output " << i;
  }
}

constexpr std::int64_t kMany = std::int64_t{1} << 18;  // threads

TEST_P(CudaRuns, OfPackedValues) {
  const auto build = [](Graph&, Var x) { return Vars{x * x + 3, maximum(x, 5)}; };
  for (const std::int64_t more : {0, 1, 9}) {
    expect_like_cpu(build, small_numbers(GetParam(), {16 * kMany + more}));
  }
}

// A chain of ops that each may go on in the memory of the one before.
TEST_P(CudaRuns, InPlace) {
  const auto build = [](Graph&, Var x) {
    const Var first = x + 1;
    return Vars{slice(maximum(minimum(first, 7), 2), {{.axis = 0, .start = 5}})};
  };
  expect_like_cpu(build, small_numbers(GetParam(), {9 * kMany + 3}));
}

TEST_P(CudaRuns, WithChannelsAndRows) {
  for (const std::int64_t columns : {64, 24, 33}) {
    const auto build = [](Graph&, Var x) {
      const Var channels = slice(x, {{.axis = 0, .start = 3, .stop = 4}});
      const Var rows = slice(x, {{.axis = 1, .start = 1, .stop = 2}});
      return Vars{x * channels + rows, maximum(x, rows)};
    };
    expect_like_cpu(build, small_numbers(GetParam(), {10 * kMany / columns + 1, columns}));
  }
}

// Views that begin between runs, and operands in another order.
TEST_P(CudaRuns, OfViews) {
  const auto build = [](Graph&, Var x) {
    const Var tail = slice(x, {{.axis = 0, .start = 1}});
    const Var head = slice(x, {{.axis = 0, .stop = -1}});
    return Vars{tail + head, transpose(x) + transpose(x), slice(x, {{.axis = 1, .start = 1}}) * 2};
  };
  expect_like_cpu(build, small_numbers(GetParam(), {2049, 1032}));
  expect_like_cpu(build, small_numbers(GetParam(), {2048, 1031}));
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudaRuns, testing::ValuesIn(kNumbers.members()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace antichain::runs_test
