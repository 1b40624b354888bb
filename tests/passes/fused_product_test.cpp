// Products computed together with what follows them: not a bit changes.
#include "antichain/ops/products/fused_product.h"

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/runtime/kernel_table.h"
#include "antichain/runtime/profiler.h"
#include "antichain/session/session.h"
#include "tests/backends_cpu/threads.h"
#include "tests/passes/pass_test.h"

namespace antichain::fused_product_test {

using In = std::span<const Var>;
using Build = std::function<std::vector<Var>(In)>;

// Runs a graph of these inputs at a level; tells how many fused products a kernel computed.
struct LevelRun {
  std::vector<Tensor> results;
  std::int64_t fused = 0;

  LevelRun(int level, const std::vector<Tensor>& inputs, const Build& build) {
    Session session;
    Graph graph = session.graph();
    Feeds feeds;
    std::vector<Var> vars;
    for (const Tensor& input : inputs) {
      const std::string name = "in" + std::to_string(vars.size());
      vars.push_back(
          graph.input(name, input.dtype(), {input.shape().begin(), input.shape().end()}));
      feeds[name] = input;
    }
    const Executable run = session.compile(build(vars), {.compiler = {.level = level}});
    Profiler profiler;
    results = run.run(feeds, {&profiler}).tensors();
    for (const ProfileRow& row : profiler.rows()) {
      fused += row.op == "fused_product" && row.kernel != kReferenceKernel ? row.count : 0;
    }
  }
};

void expect_same_bits(std::int64_t fused, const LevelRun& together, const LevelRun& plain,
                      const std::string& what) {
  EXPECT_EQ(together.fused, fused) << what;
  for (std::size_t i = 0; i < plain.results.size(); ++i) {
    EXPECT_TRUE(bit_equal(plain.results[i], together.results[i]))
        << what << ", result " << i << " of " << to_string(plain.results[i].shape());
  }
}

void expect_same_bits(std::int64_t fused, const std::vector<Tensor>& inputs, const Build& build,
                      const std::string& what) {
  expect_same_bits(fused, LevelRun(2, inputs, build), LevelRun(1, inputs, build), what);
}

// For what the pass would leave alone.
void expect_same_bits_as_one_op(const std::vector<Tensor>& inputs, const Build& build,
                                const std::string& what) {
  const auto as_one = [&](In in) {
    return fused_product(in[0].graph(), [&] { return build(in); });
  };
  expect_same_bits(1, LevelRun(1, inputs, as_one), LevelRun(1, inputs, build), what);
}

// x w + b with activations, and everything that may be broadcast against it.
std::vector<Var> layer(In in, MatmulOptions options = {}) {
  const Var sum = matmul(in[0], in[1], options) + in[2];
  const Var scaled = gelu(sum * in[3]) * 0.5 + in[4];
  return {relu(sum), tanh(scaled) - in[5], greater(scaled, sum)};
}

std::vector<Tensor> layer_inputs(std::int64_t rows, std::int64_t inner, std::int64_t columns,
                                 DType dtype, MatmulOptions options = {}) {
  return {wave(options.transpose_a ? Shape{inner, rows} : Shape{rows, inner}, dtype),
          wave(options.transpose_b ? Shape{columns, inner} : Shape{inner, columns}, dtype),
          wave({columns}, dtype),
          wave({rows, 1}, dtype),
          wave({rows, columns}, dtype),
          wave({}, dtype)};
}

TEST(FusedProductBits, OddEmptyAndSmallShapes) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const std::int64_t rows : {0, 1, 3, 33}) {
      for (const std::int64_t columns : {0, 1, 7, 65}) {
        for (const std::int64_t inner : {0, 1, 17}) {
          const MatmulOptions options = {rows == 3, columns == 7};
          expect_same_bits_as_one_op(
              layer_inputs(rows, inner, columns, dtype, options),
              [&](In in) { return layer(in, options); },
              fmt::format("{} {}x{}x{}", name(dtype), rows, inner, columns));
        }
      }
    }
  }
}

// Shapes that are cut into blocks: by rows, by columns, by both.
TEST(FusedProductBits, BlocksOnAnyNumberOfThreads) {
  struct Sizes {
    std::int64_t rows, inner, columns;
  };
  for (const auto [rows, inner, columns] :
       {Sizes{131, 513, 517}, {64, 512, 1536}, {1, 700, 900}, {4099, 33, 70}, {3000, 32, 64}}) {
    for (const DType dtype : {f32, f64, bf16}) {
      for (int threads = 1; threads <= 4; ++threads) {
        const cpu::Threads guard(threads);
        expect_same_bits(
            1, layer_inputs(rows, inner, columns, dtype), [](In in) { return layer(in); },
            fmt::format("{} {}x{}x{}, {} threads", name(dtype), rows, inner, columns, threads));
      }
    }
  }
}

TEST(FusedProductBits, BytesAndOtherTypesThanTheProducts) {
  const std::vector<Tensor> bytes = {Tensor::full(i8, {130, 300}, -128),
                                     Tensor::full(i8, {300, 260}, 127), wave({260})};
  const auto scaled = [](In in) {
    return std::vector<Var>{cast(matmul(in[0], in[1]), f32) * 0.001 + in[2]};
  };
  const LevelRun plain(1, bytes, scaled), together(2, bytes, scaled);
  EXPECT_TRUE(bit_equal(plain.results[0], together.results[0])) << "whatever computes bytes here";
  // The product is rounded to bf16 before it is widened.
  expect_same_bits(
      1, {wave({130, 300}, bf16), wave({300, 260}, bf16), wave({260})},
      [](In in) { return std::vector<Var>{tanh(cast(matmul(in[0], in[1]), f32) + in[2])}; },
      "bf16 to f32");
}

TEST(FusedProductBits, BatchesBroadcastsAndViews) {
  const auto product = [](In in) {
    return std::vector<Var>{relu(matmul(in[0], in[1]) + in[2]) * in[3]};
  };
  expect_same_bits(1, {wave({6, 9, 40}), wave({40, 70}), wave({9, 70}), wave({6, 1, 70})}, product,
                   "shared right matrix");
  expect_same_bits(1, {wave({200, 3, 40}), wave({40, 65}), wave({3, 65}), wave({65})}, product,
                   "blocks that begin within what repeats itself");
  expect_same_bits(1, {wave({2, 3, 65, 70}), wave({3, 70, 91}), wave({65, 1}), wave({3, 1, 91})},
                   product, "batch of products");
  expect_same_bits(1, {wave({8, 4, 64, 32}), wave({8, 4, 32, 64}), wave({64}), wave({8, 1, 1, 64})},
                   product, "attention");
  expect_same_bits(
      1, {wave({40, 70}), wave({90, 40}), wave({90, 70}), wave({70, 1})},
      [](In in) {
        return std::vector<Var>{
            relu(matmul(transpose(in[0]), transpose(in[1])) + transpose(in[2])) * in[3]};
      },
      "views");
}

TEST(FusedProductBits, TwoProductsAndAGradient) {
  expect_same_bits(
      3,
      {wave({50, 40}), wave({40, 60}), wave({50, 33}), wave({33, 60}), wave({60}), wave({60, 60})},
      [](In in) {
        const Var h = tanh(matmul(in[0], in[1]) + matmul(in[2], in[3]) + in[4]);
        const Var y = relu(matmul(h, in[5]) + h);
        std::vector<Var> all = grad(sum(square(y)), {in[1], in[3], in[4], in[5]});
        all.push_back(y);
        return all;
      },
      "recurrent layer");
}

TEST(FusedProductBits, Convolutions) {
  struct Sizes {
    Shape x, weight;
    ConvOptions options = {};
  };
  for (const Sizes& use : {Sizes{{2, 3, 9, 7}, {5, 3, 3, 3}},
                           {{2, 64, 12, 12}, {128, 64, 3, 3}, {.padding = {1, 1}}},
                           {{33, 16, 10}, {24, 16, 3}, {.stride = {2}}},
                           {{3, 8, 6, 6}, {8, 1, 3, 3}, {.groups = 8}},
                           {{0, 3, 9, 7}, {5, 3, 3, 3}},
                           {{1, 1, 1}, {1, 1, 1}}}) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      Shape bias(use.weight.size() - 1, 1);
      bias[0] = use.weight[0];
      for (const int threads : {1, 3}) {
        const cpu::Threads guard(threads);
        expect_same_bits(
            2, {wave(use.x, dtype), wave(use.weight, dtype), wave(bias, dtype)},
            [&](In in) {
              const Var y = tanh(conv(in[0], in[1], use.options) + in[2]);
              return std::vector<Var>{y, grad(sum(y), in[0]) * in[0]};
            },
            fmt::format("{} {} {}", name(dtype), to_string(use.x), to_string(use.weight)));
      }
    }
  }
}

TEST(FusedProductBits, TransposedConvolution) {
  expect_same_bits(
      1, {wave({3, 4, 7}), wave({4, 9, 3}), wave({9, 1})},
      [](In in) {
        return std::vector<Var>{relu(conv_transpose(in[0], in[1], {.stride = {2}}) + in[2])};
      },
      "conv_transpose");
}

TEST(FusedProductBits, InBodiesOfChains) {
  constexpr int kSteps = 5;
  expect_same_bits(
      2 * kSteps, {wave({9, 40}), wave({kSteps, 9, 40}), wave({40, 40})},
      [](In in) {
        const Var last =
            chain(in[0], in[1], [&](Var h, Var x) { return tanh(matmul(h, in[2]) + x); }).last;
        return std::vector<Var>{last, grad(sum(square(last)), in[0])};
      },
      "chain");
}

TEST(FusedProductBits, SizesOfTheRun) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", 40}), w = graph.input("w", f32, {40, 200});
  const Var r = graph.input("r", f32, {x.dim(0), 200});
  const Var y = gelu(matmul(x, w)) + r;
  const Executable plain = session.compile({y}, {.compiler = {.level = 1}});
  const Executable together = session.compile({y});
  for (const std::int64_t n : {0, 1, 77, 500}) {
    const Feeds feeds = {{"x", wave({n, 40})}, {"w", wave({40, 200})}, {"r", wave({n, 200})}};
    EXPECT_TRUE(bit_equal(plain(feeds)[0], together(feeds)[0])) << n;
  }
}

// Results take the memory of what dies, but never that of the factors, which other blocks read.
TEST(FusedProductMemory, TheProductTakesNone) {
  constexpr std::int64_t kRows = 128, kColumns = 128, kBytes = kRows * kColumns * 4;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {kRows, kColumns});
  const Var a = exp(x), residual = softmax(x, 1);
  const Var y = matmul(x, relu(matmul(a, x) + residual));
  const Var z = matmul(x, relu(matmul(a, x) + a));
  const auto compiled = [&](Var value, const std::vector<std::string>& disabled) {
    return session.compile({value}, {.compiler = {.disabled = disabled}});
  };
  const Feeds feeds = {{"x", wave({kRows, kColumns})}};
  for (const Var value : {y, z}) {
    const Executable apart = compiled(value, {"fuse-products"}), together = compiled(value, {});
    EXPECT_TRUE(bit_equal(apart(feeds)[0], together(feeds)[0]));
    if (value == y) {
      EXPECT_LE(together.memory_bytes() + kBytes, apart.memory_bytes());
    }
  }
}

}  // namespace antichain::fused_product_test
