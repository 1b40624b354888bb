// Training on a GPU: the losses of the CPU, and errors that arrive.
#include <gtest/gtest.h>

#include "antichain/antichain.h"

namespace antichain {
namespace {

class CudaTraining : public testing::Test {
 protected:
  void SetUp() override {
    try {
      const Session session({.device = "cuda"});
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

std::vector<float> losses_on(const std::string& device, int steps) {
  Session session({.device = device, .seed = 3});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 20}), y = graph.input("y", i64, {x.dim(0)});
  const std::vector<std::int64_t> widths = {64, 64, 10};
  const Var logits = nn::mlp(nn::dropout(x, {.rate = 0.1}), widths, {.activation = tanh});
  const Var loss = mean(cross_entropy(logits, y));
  const Executable step = session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.003})});
  Tensor inputs = Tensor::empty(f32, {50, 20}), labels = Tensor::empty(i64, {50});
  for (std::int64_t i = 0; i < inputs.numel(); ++i) {
    inputs.data<float>()[i] = std::sin(static_cast<float>(i));
  }
  for (std::int64_t i = 0; i < 50; ++i) {
    labels.data<std::int64_t>()[i] = i % 10;
  }
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    losses.push_back(step({{"x", inputs}, {"y", labels}})[0].item<float>());
  }
  return losses;
}

TEST_F(CudaTraining, HasTheLossesOfTheCpu) {
  const std::vector<float> cpu = losses_on("cpu", 100), gpu = losses_on("cuda", 100);
  EXPECT_LT(cpu.back(), 0.7 * cpu.front());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_NEAR(cpu[i], gpu[i], 2e-3 * cpu[i]) << i;
  }
}

TEST_F(CudaTraining, AChainStaysOnTheGpu) {
  const auto result = [](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var h = graph.input("h", f32, {4, 8}), w = parameter("w", full(graph, f32, {8, 8}, 0.1));
    const Var xs = graph.input("xs", f32, {"t", 4, 8});
    const Var y = sum(chain(h, xs, [&](Var s, Var x) { return tanh(matmul(s, w) + x); }).last);
    const Executable run = session.compile({y, grad(y, w)});
    return run({{"h", Tensor::full(f32, {4, 8}, 0.3)}, {"xs", Tensor::full(f32, {20, 4, 8}, 0.1)}})
        .tensors();
  };
  const std::vector<Tensor> cpu = result("cpu"), gpu = result("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const std::vector<float> a = cpu[i].to_vector<float>(), b = gpu[i].to_vector<float>();
    for (std::size_t n = 0; n < a.size(); ++n) {
      EXPECT_NEAR(a[n], b[n], 1e-5 * (1 + std::abs(a[n])));
    }
  }
}

TEST_F(CudaTraining, WrongIndicesAreNamed) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5, 3}), at = graph.input("at", i64, {2});
  const Executable run = session.compile({gather(x, at, 0)});
  const Tensor table = Tensor::full(f32, {5, 3}, 1);
  try {
    run({{"x", table}, {"at", Tensor::of<std::int64_t>({2}, {1, 5})}});
    FAIL() << "index 5 of 5 was taken";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("index 5 is outside an axis of size 5"),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(run({{"x", table}, {"at", Tensor::of<std::int64_t>({2}, {1, 4})}}));
}

TEST_F(CudaTraining, StatesAreReadOnTheHost) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var w = parameter("w", full(graph, f32, {3}, 2));
  const Executable step = session.compile({sum(w)}, {.updates = {add_update(graph, "w", w)}});
  EXPECT_EQ(step({})[0].item<float>(), 6);
  EXPECT_EQ(session.states().get("w").to_vector<float>(), (std::vector<float>{4, 4, 4}));
  session.states().set("w", Tensor::full(f32, {3}, 1));
  EXPECT_EQ(step({})[0].item<float>(), 3);
}

}  // namespace
}  // namespace antichain
