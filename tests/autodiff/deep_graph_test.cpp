// A chain of 100,000 ops is built, differentiated, compiled and run on a thread with a small stack:
// nothing may recur as deep as the graph is.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"

namespace antichain::deep_graph_test {

constexpr int kOps = 100'000;
constexpr std::size_t kStackBytes = 256 * 1024;

// y = x + kOps / 2 steps of (· * 1.00001 + x), so dy/dx is a geometric sum.
void* build_and_run(void*) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {});
  Var y = x;
  for (int i = 0; i < kOps / 2; ++i) {
    y = y * 1.00001 + x;
  }
  EXPECT_GE(graph.num_ops(), static_cast<std::size_t>(kOps));
  verify(graph);
  const Var slope = grad(y, x), moved = jvp({y}, {x}, {ones_like(x)})[0];
  const Results found = session.compile({y, slope, moved})({{"x", Tensor::scalar(2.0)}});
  const double ratio = 1.00001, power = std::pow(ratio, kOps / 2);
  const double expected = power + (power - 1) / (ratio - 1);
  EXPECT_NEAR(found[0].item<double>(), 2 * expected, 1e-6 * expected);
  EXPECT_NEAR(found[1].item<double>(), expected, 1e-6 * expected);
  EXPECT_NEAR(found[2].item<double>(), expected, 1e-6 * expected);
  return nullptr;
}

// The same depth by one value that 100,000 ops use.
void* build_wide(void*) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {});
  Var total = x;
  for (int i = 1; i < kOps / 2; ++i) {
    total = total + x * static_cast<double>(i);
  }
  const double expected = 1 + (kOps / 2 - 1) * (kOps / 2.0) / 2;
  EXPECT_EQ(session.compile({grad(total, x)})({{"x", Tensor::scalar(2.0)}}).item<double>(),
            expected);
  return nullptr;
}

void on_small_stack(void* (*work)(void*)) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, work, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(DeepGraph, ALongChainOfOps) { on_small_stack(build_and_run); }
TEST(DeepGraph, AValueWithManyUses) { on_small_stack(build_wide); }

}  // namespace antichain::deep_graph_test
