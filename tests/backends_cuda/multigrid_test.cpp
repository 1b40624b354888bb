// Chains solved by multigrid on a GPU: states and gradients of the CPU's solve, and nothing on the
// host.
#include <gmock/gmock.h>

#include <cmath>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/host_ops.h"

namespace antichain::multigrid_gpu_test {

struct NetSizes {
  std::int64_t width, batch, steps;
};

// The last state and gradients of all inputs of a net of residual layers.
struct Net {
  Session session;
  Graph graph;
  Vars wanted;
  Feeds feeds;

  Net(const std::string& device, const NetSizes& sizes, const EngineChoice& engine)
      : session({.device = device}), graph(session.graph()) {
    const Var u = input("u", {sizes.batch, sizes.width}),
              w = input("w", {sizes.steps, sizes.width, sizes.width}),
              b = input("b", {sizes.steps, sizes.width});
    const double h = 4 / static_cast<double>(sizes.steps);
    const double size = 1 / std::sqrt(static_cast<double>(sizes.width));
    const ChainResult found =
        chain({u}, {w, b},
              [&](Var, const Vars& s, const Vars& x) -> StepResult {
                return {{s[0] + h * tanh(size * matmul(s[0], x[0]) + x[1])}, {square(s[0])}};
              },
              {.engine = engine});
    const Var loss = mean(square(found.last[0])) + mean(found.ys[0]);
    wanted = grad(loss, {u, w, b});
    wanted.push_back(found.last[0]);
  }

  std::vector<Tensor> run() { return session.compile(wanted)(feeds).tensors(); }

 private:
  // Numbers that change slowly along the first axis.
  Var input(const std::string& name, const Shape& shape) {
    Tensor values = Tensor::empty(f32, shape);
    const std::int64_t row = values.numel() / shape[0];
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const double turn = static_cast<double>(i / row) / static_cast<double>(shape[0]);
      values.data<float>()[i] =
          static_cast<float>(std::sin(1.7 * static_cast<double>(i % row) + 2 * turn));
    }
    feeds.emplace(name, values);
    return graph.input(name, f32, {shape.begin(), shape.end()});
  }
};

EngineChoice cycles(std::int64_t levels, std::int64_t coarsening, std::int64_t count) {
  return {"multigrid",
          {{"when", "always"}, {"levels", levels}, {"coarsening", coarsening}, {"cycles", count}}};
}

// How far results are from what is wanted, as a part of it.
double error(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  double miss = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    miss += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return a.size() == b.size() ? std::sqrt(miss / size) : HUGE_VAL;
}

class CudaMultigrid : public GpuTest {};

void expect_values_of_the_cpu(const NetSizes& sizes, const EngineChoice& engine) {
  SCOPED_TRACE(std::to_string(sizes.width) + " wide, batch " + std::to_string(sizes.batch) + ", " +
               std::to_string(sizes.steps) + " steps, " + engine.str());
  const std::vector<Tensor> want = Net("cpu", sizes, engine).run(),
                            got = Net("cuda", sizes, engine).run();
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_LT(error(got[i], want[i]), 1e-4) << "result " << i;
  }
}

TEST_F(CudaMultigrid, HasTheValuesOfTheCpu) {
  for (const NetSizes& sizes :
       {NetSizes{5, 3, 34}, NetSizes{8, 17, 67}, NetSizes{64, 33, 130}, NetSizes{256, 7, 40}}) {
    for (const std::int64_t count : {1, 2}) {
      expect_values_of_the_cpu(sizes, cycles(2, 8, count));
    }
    expect_values_of_the_cpu(sizes, cycles(3, 4, 1));
  }
}

// So many rows that blocks of threads take several of them.
TEST_F(CudaMultigrid, HasTheValuesOfTheCpuWithManyRows) {
  expect_values_of_the_cpu({8, 200, 256}, cycles(2, 4, 1));
  expect_values_of_the_cpu({64, 64, 256}, cycles(2, 4, 1));
  expect_values_of_the_cpu({20, 301, 131}, cycles(2, 4, 2));
}

TEST_F(CudaMultigrid, OfAnImplicitGru) {
  const auto run = [](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var xs = graph.input("xs", f32, {36, 10, 9});
    const Var all =
        nn::implicit_gru(xs, 20, {.layers = 2, .step = 0.2, .engine = cycles(3, 3, 1)}).all;
    return session
        .compile(grad(mean(square(all)), parameters(graph)))(
            {{"xs", Tensor::full(f32, {36, 10, 9}, 0.3)}})
        .tensors();
  };
  const std::vector<Tensor> want = run("cpu"), got = run("cuda");
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_LT(error(got[i], want[i]), 1e-4) << "gradient " << i;
  }
}

TEST_F(CudaMultigrid, RunsOnTheGpuAlone) {
  for (const EngineChoice& engine : {cycles(2, 8, 1), cycles(3, 4, 2)}) {
    Net net("cuda", {16, 6, 64}, engine);
    const Executable run = net.session.compile(net.wanted);
    HostOps host_ops;
    const std::vector<Tensor> first = run.run(net.feeds, {&host_ops}).tensors();
    EXPECT_EQ(host_ops.names, std::vector<std::string>()) << engine.str();
    // The second run is recorded, and replayed in later ones.
    for (int i = 0; i < 3; ++i) {
      const std::vector<Tensor> again = run(net.feeds).tensors();
      for (std::size_t n = 0; n < first.size(); ++n) {
        EXPECT_TRUE(bit_equal(first[n], again[n])) << n;
      }
    }
  }
}

}  // namespace antichain::multigrid_gpu_test
