// Attention on a GPU against products and a softmax in f64 on the CPU, from small to large.
#include "antichain/nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/attention.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::attention_test {

using Vars = std::vector<Var>;

struct Sizes {
  std::int64_t batches, queries, keys, heads, width;
};

struct Variant {
  DType dtype;
  std::int64_t width;
  bool causal, masked;
};

std::string name_of(const Variant& variant) {
  return fmt::format("{}_{}{}{}", name(variant.dtype), variant.width,
                     variant.causal ? "_causal" : "", variant.masked ? "_masked" : "");
}

Tensor normal(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return Tensor::of<double>(shape, values).cast(dtype);
}

// Every fifth key is hidden; of the last batch the first three quarters are, so that with `causal`
// some queries see none.
Tensor flags(std::int64_t batches, std::int64_t keys) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < batches * keys; ++i) {
    values.push_back(i / keys + 1 < batches ? i % 5 != 2 : i % keys >= keys * 3 / 4);
  }
  return Tensor::of({batches, keys}, values).cast(boolean);
}

// Reports the first element that is wrong, by its position.
void expect_near(const Tensor& got, const Tensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  double largest = 0.1;  // what is 0 by cancelling is not exact either
  for (const double value : b) {
    largest = std::max(largest, std::abs(value));
  }
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_near = std::abs(a[i] - b[i]) <= tolerance * largest;
    first = !is_near && wrong == 0 ? i : first;
    wrong += is_near ? 0 : 1;
  }
  if (wrong > 0) {
    std::string position;
    auto rest = static_cast<std::int64_t>(first);
    for (auto size = want.shape().rbegin(); size != want.shape().rend(); ++size) {
      position = fmt::format("{}{}{}", rest % *size, position.empty() ? "" : ", ", position);
      rest /= *size;
    }
    ADD_FAILURE() << what << ": " << wrong << " of " << a.size() << " are wrong, the first at ["
                  << position << "]: " << a[first] << " instead of " << b[first];
  }
}

struct Operands {
  Var q, k, v, grad;
  ScoreOptions options;
};

using Build = std::function<Vars(const Operands&)>;

Vars forward_and_gradients(const Operands& in) {
  const Attended attended = attention(in.q, in.k, in.v, in.options);
  const AttentionGradient grads =
      attention_gradient(in.grad, in.q, in.k, in.v, attended, in.options);
  return {attended.output, attended.lse, grads.v, grads.k, grads.q};
}

const char* const kNames[] = {"output", "lse", "gradient of v", "gradient of k", "gradient of q"};

class CudaAttention : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }

  // On the CPU in f64; on the GPU three times, the third being a replay, with the same bits.
  static std::vector<Tensor> run_on(const std::string& device, const Variant& variant,
                                    const Sizes& sizes, const Build& build) {
    Session session({.device = device});
    Graph graph = session.graph();
    const DType dtype = device == "cpu" ? f64 : variant.dtype;
    Feeds feeds;
    const auto in = [&](const std::string& label, std::int64_t times) {
      const Shape shape = {sizes.batches, times, sizes.heads, sizes.width};
      feeds[label] = normal(shape, variant.dtype, feeds.size() + 1).cast(dtype);
      return graph.input(label, dtype, {shape.begin(), shape.end()});
    };
    Operands operands;
    operands.q = in("q", sizes.queries);
    operands.k = in("k", sizes.keys);
    operands.v = in("v", sizes.keys);
    operands.grad = in("grad", sizes.queries);
    operands.options = {.scale = 1 / std::sqrt(static_cast<double>(sizes.width)),
                        .causal = variant.causal};
    if (variant.masked) {
      operands.options.mask = graph.input("mask", boolean, {sizes.batches, sizes.keys});
      feeds["mask"] = flags(sizes.batches, sizes.keys);
    }
    const Vars values = build(operands);
    if (device != "cpu") {
      for (Op op : schedule(graph, values)) {
        if (op.def().name.starts_with("attention")) {
          EXPECT_TRUE(session.backend().kernels().has_kernel(op)) << op.def().name;
        }
      }
    }
    const Executable run = session.compile(values);
    const std::vector<Tensor> first = run(feeds).tensors();
    for (int again = 0; device != "cpu" && again < 2; ++again) {
      const std::vector<Tensor> other = run(feeds).tensors();
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_TRUE(bit_equal(first[i], other[i])) << kNames[i] << ", run " << again + 2;
      }
    }
    return first;
  }

  static void expect_like_f64(const Variant& variant, const Sizes& sizes,
                              const Build& build = forward_and_gradients) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys, {} batches, {} heads", sizes.queries, sizes.keys,
                             sizes.batches, sizes.heads));
    const std::vector<Tensor> got = run_on("cuda", variant, sizes, build);
    const std::vector<Tensor> want = run_on("cpu", variant, sizes, build);
    // Weights, their slopes and results are rounded to 8 bits, or 11.
    const double tolerance = variant.dtype == bf16 ? 0.02 : 0.0025;
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_near(got[i], want[i], tolerance, kNames[i]);
    }
  }
};

TEST_P(CudaAttention, OneTile) { expect_like_f64(GetParam(), {1, 16, 16, 1, GetParam().width}); }

TEST_P(CudaAttention, SmallSizes) {
  for (const std::int64_t size : {1, 17, 64, 100, 128}) {
    expect_like_f64(GetParam(), {2, size, size, 3, GetParam().width});
  }
}

TEST_P(CudaAttention, OtherKeys) {
  for (const auto& [queries, keys] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {17, 100}, {100, 17}, {1, 257}, {257, 1}}) {
    expect_like_f64(GetParam(), {2, queries, keys, 2, GetParam().width});
  }
}

TEST_P(CudaAttention, LargeSizes) {
  expect_like_f64(GetParam(), {2, 257, 257, 2, GetParam().width});
  expect_like_f64(GetParam(), {2, 512, 512, 2, GetParam().width});
}

// q, k and v as parts of one value, whose gradient is put together again.
TEST_P(CudaAttention, PartsOfOneValue) {
  const auto build = [](const Operands& in) {
    const Dims shape = in.q.shape();
    const Var all =
        reshape(concat({in.q, in.k, in.v}, 2), {shape[0], shape[1], 3, shape[2], shape[3]});
    const auto part = [&](std::int64_t i) {
      return reshape(slice(all, {{.axis = 2, .start = i, .stop = i + 1}}), shape);
    };
    return forward_and_gradients(
        {.q = part(0), .k = part(1), .v = part(2), .grad = in.grad, .options = in.options});
  };
  expect_like_f64(GetParam(), {2, 100, 100, 3, GetParam().width}, build);
}

// By head, [batch, heads, time, width], and rows that begin between multiples of 16 bytes.
TEST_P(CudaAttention, OtherLayouts) {
  const auto build = [](const Operands& in) {
    const auto elsewhere = [](Var x) {
      const Var by_head = reshape(x, {x.dim(0), x.dim(2), x.dim(1), x.dim(3)});
      return swap_axes(by_head, 1, 2);
    };
    const auto shifted = [](Var x) {
      const Var wide = concat({x, x}, 3);
      return slice(wide, {{.axis = 3, .start = 3, .stop = 3 + x.dim(3).constant()}});
    };
    return forward_and_gradients({.q = shifted(in.q),
                                  .k = elsewhere(in.k),
                                  .v = elsewhere(in.v),
                                  .grad = shifted(in.grad),
                                  .options = in.options});
  };
  expect_like_f64(GetParam(), {2, 50, 70, 3, GetParam().width}, build);
}

std::vector<Variant> variants() {
  std::vector<Variant> result;
  for (const std::int64_t width : {64, 16, 32, 128}) {
    for (const DType dtype : {bf16, f16}) {
      for (const bool masked : {false, true}) {
        for (const bool causal : {false, true}) {
          result.push_back({dtype, width, causal, masked});
        }
      }
    }
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Variants, CudaAttention, testing::ValuesIn(variants()),
                         [](const auto& test) { return name_of(test.param); });

class CudaAttentionWidths : public CudaAttention {};

// Widths that are no powers of two have kernels, too.
TEST_P(CudaAttentionWidths, OtherWidths) {
  expect_like_f64(GetParam(), {1, 70, 90, 2, GetParam().width});
}

INSTANTIATE_TEST_SUITE_P(Widths, CudaAttentionWidths,
                         testing::ValuesIn(std::vector<Variant>{{bf16, 48, false, false},
                                                                {bf16, 80, true, false},
                                                                {f16, 96, false, true},
                                                                {f16, 112, true, true}}),
                         [](const auto& test) { return name_of(test.param); });

// What tensor cores do not compute is taken apart, and so are second derivatives.
TEST(CudaAttentionParts, OthersAreTakenApart) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const auto values_on = [](const std::string& device, DType dtype) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var x = graph.input("x", dtype, {2, 9, 2, 16});
    const Var y = attention(x, x * 2, x + 1, {.scale = 0.25, .causal = true}).output;
    const Var slope = grad(sum(square(y)), x);
    const Executable run = session.compile({y, slope, grad(sum(square(slope)), x)});
    return run({{"x", normal({2, 9, 2, 16}, bf16, 5).cast(dtype)}}).tensors();
  };
  const std::vector<Tensor> want = values_on("cpu", f64);
  for (const DType dtype : {f64, f32, bf16}) {
    const std::vector<Tensor> got = values_on("cuda", dtype);
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_near(got[i], want[i], dtype == bf16 ? 0.1 : 1e-4,
                  fmt::format("{}, derivative {}", name(dtype), i));
    }
  }
}

}  // namespace antichain::attention_test
