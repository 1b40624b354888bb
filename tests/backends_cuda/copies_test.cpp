// Copies between layouts, at sizes and addresses that samples do not have, against the CPU.
#include <gtest/gtest.h>

#include "antichain/ops/elementwise/cast_all.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::copies_test {

using Vars = std::vector<Var>;
using Build = std::function<Vars(Var x)>;

class CudaCopies : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

Tensor counted(DType dtype, const Shape& shape) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int64_t>(i * 7 % 101);
  }
  return Tensor::of(shape, numbers).cast(dtype);
}

std::vector<Tensor> run_on(const std::string& device, const Build& build, const Tensor& x) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Var in = graph.input("x", x.dtype(), {x.shape().begin(), x.shape().end()});
  const Executable run = session.compile(build(in));
  const std::vector<Tensor> first = run({{"x", x}}).tensors();
  // The second run is recorded, the third is a replay of it.
  for (int again = 0; device != "cpu" && again < 2; ++again) {
    const std::vector<Tensor> other = run({{"x", x}}).tensors();
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(bit_equal(first[i], other[i])) << "run " << again + 2 << ", output " << i;
    }
  }
  return first;
}

void expect_like_cpu(const Build& build, const Tensor& x) {
  const std::vector<Tensor> want = run_on("cpu", build, x), got = run_on("cuda", build, x);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(bit_equal(want[i], got[i])) << "output " << i;
  }
}

TEST_P(CudaCopies, TransposesOfManyShapes) {
  const auto all = [](Var x) {
    return Vars{transpose(x, {0, 2, 1, 3}), transpose(x, {0, 1, 3, 2}), transpose(x, {3, 2, 1, 0}),
                transpose(x, {2, 3, 0, 1}), transpose(x, {1, 0, 3, 2})};
  };
  for (const Shape& shape :
       {Shape{3, 33, 8, 64}, Shape{2, 5, 67, 131}, Shape{17, 3, 19, 16}, Shape{1, 16, 1, 16},
        Shape{2, 64, 64, 6}, Shape{3, 0, 20, 40}, Shape{1, 1, 300, 1000}}) {
    SCOPED_TRACE(to_string(shape));
    expect_like_cpu(all, counted(GetParam(), shape));
  }
}

// More than a GPU has threads for at a time.
TEST_P(CudaCopies, LargeTransposes) {
  const auto heads = [](Var x) { return Vars{transpose(x, {0, 2, 1, 3})}; };
  expect_like_cpu(heads, counted(GetParam(), {8, 513, 8, 64}));
  expect_like_cpu(heads, counted(GetParam(), {4, 257, 33, 31}));
  const auto matrix = [](Var x) { return Vars{transpose(x)}; };
  expect_like_cpu(matrix, counted(GetParam(), {1537, 1031}));
}

// Views begin at any multiple of an element.
TEST_P(CudaCopies, ViewsThatAreNotAligned) {
  for (const std::int64_t start : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(start);
    const auto build = [start](Var x) {
      const Var tail = slice(x, {{.axis = 1, .start = start}});
      const Var rows = slice(x, {{.axis = 0, .start = 1}});
      return Vars{concat({tail, tail}, 1), concat({rows, rows, x}, 0), transpose(tail),
                  flip(tail, {0}), flip(tail, {1})};
    };
    expect_like_cpu(build, counted(GetParam(), {37, 64}));
    expect_like_cpu(build, counted(GetParam(), {37, 65}));
  }
}

TEST_P(CudaCopies, ManyParts) {
  const auto build = [](Var x) {
    Vars parts, numbers, empty;
    for (std::int64_t i = 0; i < 130; ++i) {
      parts.push_back(slice(x, {{.axis = 0, .start = i % 7, .stop = i % 7 + i % 4}}));
      numbers.push_back(reshape(slice(x, {{.axis = 0, .start = i % 7, .stop = i % 7 + 1},
                                          {.axis = 1, .start = i % 5, .stop = i % 5 + 1}}),
                                Dims{}));
      empty.push_back(slice(x, {{.axis = 0, .stop = 0}}));
    }
    const Var t = transpose(x);
    return Vars{concat(parts, 0),        stack(numbers, 0),    concat(empty, 1),
                stack({x, x + x, x}, 0), stack({x, x + x}, 1), stack({x, x + x}, 2),
                concat({t, t, t}, 0),    concat({t, t}, 1)};
  };
  expect_like_cpu(build, counted(GetParam(), {19, 24}));
  expect_like_cpu(build, counted(GetParam(), {40, 33}));
}

TEST_P(CudaCopies, PaddingAndUpdates) {
  const auto build = [](Var x) {
    const Var part = slice(x, {{.axis = 0, .stop = 2}, {.axis = 2, .stop = 5}});
    return Vars{pad(x, {0, 1, 2}, {3, 0, 1}, 1),
                pad(x, {0, 0, 0}, {0, 0, 0}, 1),
                pad(x, {2, 2, 0}, {2, 2, 0}),
                set_slice(x, part, {{.axis = 0, .start = 1, .stop = 3}, {.axis = 2, .stop = 5}}),
                set_slice(x, part + part,
                          {{.axis = 0, .stop = 3, .step = 2}, {.axis = 2, .stop = 9, .step = 2}}),
                set_slice(x, slice(x, {{.axis = 1, .stop = 0}}), {{.axis = 1, .stop = 0}})};
  };
  expect_like_cpu(build, counted(GetParam(), {5, 7, 16}));
  expect_like_cpu(build, counted(GetParam(), {4, 3, 11}));
  const auto of_nothing = [](Var x) { return Vars{pad(x, {1, 2}, {1, 0}, 1)}; };
  expect_like_cpu(of_nothing, counted(GetParam(), {0, 3}));
}

TEST_P(CudaCopies, ManyConversions) {
  for (const DType to : {bf16, f64, i8, boolean}) {
    const auto build = [to](Var x) {
      Vars values = {x, slice(x, {{.axis = 0, .stop = 0}}), transpose(x)};
      for (std::int64_t i = 0; i < 70; ++i) {
        values.push_back(slice(x, {{.axis = 0, .start = i, .stop = 2 * i}}));
      }
      return cast_all(values, to);
    };
    expect_like_cpu(build, counted(GetParam(), {201, 33}));
    expect_like_cpu(build, counted(GetParam(), {140, 64}));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudaCopies, testing::ValuesIn(kNumbers.members()),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace antichain::copies_test
