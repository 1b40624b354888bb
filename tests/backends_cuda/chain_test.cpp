// Chains as one kernel: the values of the CPU, whatever the body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/antichain.h"
#include "antichain/backends/cuda/chains/chain_code.h"
#include "antichain/backends/cuda/chains/chain_slabs.h"
#include "antichain/backends/cuda/chains/narrow_chain.h"
#include "antichain/backends/cuda/core/kernel_compiler.h"
#include "antichain/graph/traversal.h"
#include "antichain/passes/pipeline.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::chain_test {

struct ChainCase {
  std::string name;
  std::function<Vars(Graph& graph, DType dtype)> build;
};

Var input(Graph& graph, const std::string& name, DType dtype, const std::vector<DimSpec>& shape) {
  return cast(graph.input(name, f32, shape), dtype);
}

Vars with_gradients(Graph& graph, const Vars& values) {
  Var loss;
  for (Var value : values) {
    const Var part = sum(square(cast(value, f64)));
    loss = loss.valid() ? loss + part : part;
  }
  Vars all = values;
  Vars inputs;
  for (Op op : graph.inputs()) {
    inputs.push_back(op.output());
  }
  const Vars gradients = grad(loss, inputs);
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

std::vector<ChainCase> chain_cases() {
  return {
      {"residual",
       [](Graph& graph, DType dtype) {
         const Var u = input(graph, "u", dtype, {"batch", 12});
         const Var w = input(graph, "w", dtype, {9, 12, 12}), b = input(graph, "b", dtype, {9, 12});
         const ChainResult found =
             chain({u}, {w, b}, [](Var, const Vars& s, const Vars& x) -> StepResult {
               return {{s[0] + 0.2 * tanh(matmul(s[0], x[0]) + x[1])}};
             });
         return with_gradients(graph, {found.last[0]});
       }},
      {"views that begin anywhere",
       [](Graph& graph, DType dtype) {
         const Var all = input(graph, "all", dtype, {1 + 16 * 16 + 5 * 16 * 16});
         const Var w = reshape(slice(all, {{0, 1, 1 + 16 * 16}}), {16, 16});
         const Var ws = reshape(slice(all, {{0, 1 + 16 * 16}}), {5, 16, 16});
         const Var h = input(graph, "h", dtype, {"batch", 16});
         const ChainResult found =
             chain({h}, {ws}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
               return {{tanh(0.3 * matmul(s[0], w) + 0.2 * matmul(s[0], x[0]))}};
             });
         return with_gradients(graph, {found.last[0]});
       }},
      {"recurrent",
       [](Graph& graph, DType dtype) {
         const Var xs = input(graph, "xs", dtype, {7, "batch", 10});
         const Var h = input(graph, "h", dtype, {xs.dim(1), 10});
         const Var w = input(graph, "w", dtype, {10, 10});
         const Chain found = chain(
             h, xs, [&](Var s, Var x) { return tanh(matmul(s, w, {.transpose_b = true}) + x); },
             {.reverse = true});
         return with_gradients(graph, {found.last, found.all});
       }},
      {"gates",
       [](Graph& graph, DType dtype) {
         const Var xs = input(graph, "xs", dtype, {6, "batch", 15});
         const Var h = input(graph, "h", dtype, {xs.dim(1), 5}),
                   w = input(graph, "w", dtype, {5, 15});
         const Var b = input(graph, "b", dtype, {1, 5});
         const Chain found = chain(h, xs, [&](Var s, Var x) {
           const Vars own = split(matmul(s, w), {5, 5, 5}, 1), from = split(x, {5, 5, 5}, 1);
           const Var reset = sigmoid(own[0] + from[0]), keep = sigmoid(own[1] + from[1]);
           const Var fresh = tanh(from[2] + reset * (own[2] + b));
           return fresh + keep * (s - fresh);
         });
         return with_gradients(graph, {found.all});
       }},
      {"blocks of steps",
       [](Graph& graph, DType dtype) {
         const Var xs = input(graph, "xs", dtype, {50, "batch", 20});
         const Var scales = input(graph, "scales", dtype, {50, xs.dim(1), 1});
         const Var biases = input(graph, "biases", dtype, {50, 1, 20});
         const Var h = input(graph, "h", dtype, {xs.dim(1), 20}),
                   w = input(graph, "w", dtype, {20, 20});
         Vars all;
         for (const std::int64_t length : {1, 15, 16, 17, 32, 50}) {
           const auto first_steps = [length](Var x) { return slice(x, {{0, 0, length}}); };
           const ChainResult found =
               chain({h}, {first_steps(xs), first_steps(scales), first_steps(biases)},
                     [&](Var, const Vars& s, const Vars& x) -> StepResult {
                       const Var next = tanh(0.3 * matmul(s[0], w) + x[0] + x[1] * x[2]);
                       return {{next}, {x[1] * next}};
                     },
                     {.reverse = length == 17});
           all.insert(all.end(), {found.last[0], found.before[0], found.ys[0]});
         }
         return with_gradients(graph, all);
       }},
      {"steps that begin anywhere",
       [](Graph& graph, DType dtype) {
         const Var all = input(graph, "all", dtype, {1 + 20 * 3 * 8});
         const Var xs = reshape(slice(all, {{0, 1, 1 + 20 * 3 * 8}}), {20, 3, 8});
         const Var h = input(graph, "h", dtype, {3, 8}), w = input(graph, "w", dtype, {8, 8});
         const Chain found =
             chain(h, xs, [&](Var s, Var x) { return tanh(0.5 * matmul(s, w) + x); });
         return with_gradients(graph, {found.all});
       }},
      {"states that change places",
       [](Graph& graph, DType dtype) {
         const Var a = input(graph, "a", dtype, {3, 4}), b = input(graph, "b", dtype, {3, 4});
         const ChainResult found =
             chain({a, b}, {},
                   [](Var step, const Vars& s, const Vars&) -> StepResult {
                     return {{s[1], s[0] * 0.5 + cast(step, s[0].dtype())}, {s[0]}};
                   },
                   {.length = 5});
         return Vars{found.last[0], found.last[1], found.before[1], found.ys[0]};
       }},
      {"wide and narrow",
       [](Graph& graph, DType dtype) {
         const Var h = input(graph, "h", dtype, {"batch", 3}),
                   w = input(graph, "w", dtype, {3, 300});
         const Var v = input(graph, "v", dtype, {300, 3});
         const Var xs = input(graph, "xs", dtype, {4, h.dim(0), 1});
         const ChainResult found =
             chain({h}, {xs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
               const Var wide = tanh(matmul(s[0], w) * x[0]);
               return {{matmul(wide, v) + s[0]}, {concat({wide, s[0]}, 1)}};
             });
         return Vars{found.last[0], found.ys[0]};
       }},
      {"groups of rows",
       [](Graph& graph, DType dtype) {
         const Var u = input(graph, "u", dtype, {3, "batch", 12});
         const Var ws = input(graph, "ws", dtype, {3, 7, 12, 12}),
                   bs = input(graph, "bs", dtype, {7, 3, 12});
         const Var scales = input(graph, "scales", dtype, {3, u.dim(1), 1}),
                   v = input(graph, "v", dtype, {12, 12}), c = input(graph, "c", dtype, {12});
         const ChainResult found = chain(
             {u}, {swap_axes(ws, 0, 1), bs}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
               const Var b = expand_dims(x[1], 1);
               const Var own = tanh(matmul(s[0], x[0]) + b), all = matmul(s[0], v) * scales + c;
               return {{s[0] + 0.2 * own - 0.1 * all}, {own, all}};
             });
         return Vars{found.last[0], found.before[0], found.ys[0], found.ys[1]};
       }},
      {"groups back",
       [](Graph& graph, DType dtype) {
         const Var g = input(graph, "g", dtype, {5, "batch", 9});
         const Var ws = input(graph, "ws", dtype, {4, 5, 9, 9}),
                   us = input(graph, "us", dtype, {4, 5, g.dim(1), 9}),
                   more = input(graph, "more", dtype, {4, 1, 1, 9});
         const ChainResult found =
             chain({g}, {ws, us, more},
                   [&](Var, const Vars& s, const Vars& x) -> StepResult {
                     const Var f = tanh(matmul(x[1], x[0]));
                     const Var back = matmul(s[0] * (1 - f * f), x[0], {.transpose_b = true});
                     const Vars parts = split(back, {4, 5}, 2);
                     return {{s[0] + 0.3 * concat({parts[1], parts[0]}, 2) + x[2]}};
                   },
                   {.reverse = true});
         return Vars{found.last[0], found.before[0]};
       }},
      {"matrices that pass",
       [](Graph& graph, DType dtype) {
         const Var u = input(graph, "u", dtype, {"batch", 256});
         const Var ws = input(graph, "ws", dtype, {5, 256, 256});
         const ChainResult found =
             chain({u}, {ws}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
               return {{s[0] + 0.05 * tanh(0.2 * matmul(s[0], x[0]))}};
             });
         return with_gradients(graph, {found.last[0]});
       }},
      {"no step",
       [](Graph& graph, DType dtype) {
         const Var h = input(graph, "h", dtype, {4, 3}), xs = input(graph, "xs", dtype, {0, 4, 3});
         const Chain found = chain(h, xs, [](Var s, Var x) { return s + x; });
         return Vars{found.last, found.all};
       }},
  };
}

Tensor wave(const Shape& shape, double shift) {
  Tensor tensor = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] =
        static_cast<float>(0.6 * std::sin(0.7 * static_cast<double>(i) + shift));
  }
  return tensor;
}

class CudaChain : public testing::TestWithParam<std::tuple<std::size_t, DType>> {
 protected:
  ChainCase chain_case() const { return chain_cases()[std::get<0>(GetParam())]; }
  DType dtype() const { return std::get<1>(GetParam()); }

  std::vector<Tensor> results_on(const std::string& device, std::int64_t batch) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Executable run = session.compile(chain_case().build(graph, dtype()));
    Feeds feeds;
    for (Op op : graph.inputs()) {
      Shape shape;
      for (Dim dim : op.output().shape()) {
        shape.push_back(dim.is_constant() ? dim.constant() : batch);
      }
      feeds[op.output().name()] = wave(shape, static_cast<double>(feeds.size()));
    }
    return run(feeds).tensors();
  }
};

using CudaChainOnGpu = CudaChain;

// Every chain of the case, forwards and backwards, is taken and compiles; no GPU is needed.
TEST_P(CudaChain, Compiles) {
  Graph graph;
  const Vars values = chain_case().build(graph, dtype());
  const GraphCopy copy = run_passes(graph, values, {}, {.split_chains = true});
  int chains = 0;
  for (Op op : schedule(*copy.graph, copy.values)) {
    if (&op.def() == &chain_def()) {
      const cuda::ChainBody body(op);
      ASSERT_TRUE(body.support.yes) << body.support.reason;
      for (const int rows : {1, 2}) {
        const cuda::ChainKernel kernel = cuda::chain_kernel(op, body, {rows, 256, 2 * rows});
        EXPECT_FALSE(cuda::compile_kernel(kernel.text, 90).empty());
      }
      for (const int rows : {1, 8, 32}) {
        if (cuda::why_not_by_slabs(body).empty()) {
          const cuda::ChainKernel kernel =
              cuda::chain_kernel(op, body, {rows, cuda::slab_threads(body, rows), 2, 3});
          EXPECT_FALSE(cuda::compile_kernel(kernel.text, 90).empty());
        }
      }
      if (cuda::narrow_chain_support(body).yes) {
        EXPECT_FALSE(cuda::compile_kernel(cuda::narrow_chain_kernel(op, body).text, 90).empty());
      }
      ++chains;
    }
  }
  EXPECT_GT(chains, 0);
}

// Recurrent layers of few units, forwards and backwards, are walked by warps.
TEST(NarrowChain, TakesRecurrentLayers) {
  const auto refusals = [](const std::function<nn::Recurrent(Var xs)>& layer) {
    Graph graph;
    const Var loss = sum(layer(graph.input("xs", f32, {50, "batch", 3})).all);
    const Vars grads = grad(loss, parameters(graph));
    const GraphCopy copy = run_passes(graph, grads, {}, {.split_chains = true});
    std::string all;
    int chains = 0;
    for (Op op : schedule(*copy.graph, copy.values)) {
      if (&op.def() == &chain_def()) {
        ++chains;
        const cuda::ChainBody body(op);
        const Support support = cuda::narrow_chain_support(body);
        all += support.yes ? "" : support.reason + "; ";
        if (support.yes) {
          EXPECT_FALSE(cuda::compile_kernel(cuda::narrow_chain_kernel(op, body).text, 90).empty());
        }
      }
    }
    EXPECT_EQ(chains, 2);
    return all;
  };
  EXPECT_EQ(refusals([](Var xs) { return nn::rnn(xs, 20); }), "");
  EXPECT_EQ(refusals([](Var xs) { return nn::gru(xs, 20); }), "");
  EXPECT_EQ(refusals([](Var xs) { return nn::lstm(xs, 20); }), "");
  EXPECT_THAT(refusals([](Var xs) { return nn::rnn(xs, 33); }),
              testing::HasSubstr("more units than a warp has lanes"));
}

// What is added to a product is what its sums begin with; a value that somebody else reads, too, is
// added behind it.
TEST(NarrowChain, SumsBeginWithWhatIsAdded) {
  const auto text_of = [](const std::function<Var(Var s, Var x, Var w)>& body) {
    Graph graph;
    const Var xs = graph.input("xs", f32, {50, 4, 8}), h = graph.input("h", f32, {4, 8}),
              w = graph.input("w", f32, {8, 8});
    const Var last = chain(h, xs, [&](Var s, Var x) { return body(s, x, w); }).last;
    const GraphCopy copy = run_passes(graph, Vars{last}, {}, {});
    return cuda::narrow_chain_kernel(copy.values[0].producer(),
                                     cuda::ChainBody(copy.values[0].producer()))
        .text;
  };
  const auto starts = testing::ContainsRegex("s0\\[4\\] = .v[0-9]+_0.;");
  const auto add = testing::HasSubstr("functors::Add");
  const std::string tanh_layer =
      text_of([](Var s, Var x, Var w) { return tanh(matmul(s, w) + x); });
  EXPECT_THAT(tanh_layer, starts);
  EXPECT_THAT(tanh_layer, testing::Not(add));
  const std::string reads_twice = text_of([](Var s, Var x, Var w) {
    const Var product = matmul(s, w);
    return tanh(product + x) * product;
  });
  EXPECT_THAT(reads_twice, testing::Not(starts));
  EXPECT_THAT(reads_twice, add);
}

TEST_P(CudaChainOnGpu, HasTheValuesOfTheCpu) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  for (const std::int64_t batch : {1, 3, 300, 2000}) {
    const std::vector<Tensor> cpu = results_on("cpu", batch), gpu = results_on("cuda", batch);
    ASSERT_EQ(cpu.size(), gpu.size());
    const double tolerance = dtype() == f64 ? 1e-6 : dtype() == f32 ? 2e-4 : 6e-2;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const std::vector<double> a = cpu[i].to_vector<double>(), b = gpu[i].to_vector<double>();
      double largest = 1;
      for (const double one : a) {
        largest = std::max(largest, std::abs(one));
      }
      for (std::size_t n = 0; n < a.size(); ++n) {
        ASSERT_NEAR(a[n], b[n], tolerance * largest) << i << " at " << n << ", batch " << batch;
      }
    }
  }
}

const auto kCases = testing::Combine(testing::Range<std::size_t>(0, chain_cases().size()),
                                     testing::Values(f32, f64, bf16));
std::string case_name(const testing::TestParamInfo<CudaChain::ParamType>& test) {
  std::string text = chain_cases()[std::get<0>(test.param)].name;
  std::ranges::replace(text, ' ', '_');
  return text + "_" + std::string(name(std::get<1>(test.param)));
}
INSTANTIATE_TEST_SUITE_P(Cases, CudaChain, kCases, case_name);
INSTANTIATE_TEST_SUITE_P(Cases, CudaChainOnGpu, kCases, case_name);

}  // namespace antichain::chain_test
