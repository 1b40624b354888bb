// Several threads at once give the same bits as one after another.
#include <gtest/gtest.h>

#include <thread>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"

namespace antichain::threads_test {

constexpr int kThreads = 4;

void in_threads(const std::function<void(int thread)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(work, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Trains a little recurrent model from scratch: build, differentiate, compile, run, with random
// numbers and state.
std::vector<Tensor> train(std::int64_t seed) {
  Session session({.seed = seed});
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {"time", "batch", 3});
  const Var w = parameter("w", 0.1 * random_normal(graph, f32, {3, 3}));
  const auto cell = [&](Var h, Var x) {
    return tanh(matmul(h, w) + x + 0.01 * random_uniform(graph, f32, x.shape()));
  };
  const Var h = full(graph, f32, {xs.dim(1), 3}, 0.1);
  const Var loss = mean(square(chain(h, xs, cell).last));
  const Var update = add_update(graph, "w", -0.1 * grad(loss, w));
  const Executable step = session.compile({loss}, {.updates = {update}});
  std::vector<Tensor> losses;
  for (int i = 0; i < 5; ++i) {
    losses.push_back(step({{"xs", Tensor::full(f32, {4, 2, 3}, 0.5)}})[0]);
  }
  losses.push_back(session.states().get("w"));
  return losses;
}

TEST(Threads, SessionsSideBySide) {
  std::vector<std::vector<Tensor>> alone(kThreads), together(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    alone[static_cast<std::size_t>(i)] = train(i);
  }
  in_threads([&](int i) { together[static_cast<std::size_t>(i)] = train(i); });
  for (std::size_t i = 0; i < kThreads; ++i) {
    ASSERT_EQ(alone[i].size(), together[i].size());
    for (std::size_t n = 0; n < alone[i].size(); ++n) {
      EXPECT_TRUE(bit_equal(alone[i][n], together[i][n])) << "seed " << i << ", value " << n;
    }
  }
}

TEST(Threads, OneExecutableRunByMany) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", 3});
  const Var w = parameter(
      "w", random_normal(graph, f32, {3, 3},
                         {.key = constant(graph, Tensor::of<std::int64_t>({2}, {5, 0}))}));
  const Var y = sum(tanh(matmul(x, w)));
  const Executable run = session.compile({y, grad(y, x)});
  std::vector<Tensor> feeds, expected;
  for (int i = 0; i < kThreads; ++i) {
    // Some are large enough for several threads of their own.
    feeds.push_back(Tensor::full(f32, {i % 2 == 0 ? i + 1 : i * 40000, 3}, 0.3 * i));
    expected.push_back(run({{"x", feeds.back()}})[1]);
  }
  in_threads([&](int i) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_TRUE(bit_equal(run({{"x", feeds[at]}})[1], expected[at]));
    }
  });
}

}  // namespace antichain::threads_test
