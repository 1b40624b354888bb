#include "antichain/backends/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "antichain/antichain.h"
#include "tests/backends_cpu/threads.h"

namespace antichain::cpu {
namespace {

// Sets the number of threads for one scope.
TEST(Parallel, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    for (std::int64_t count : {0, 1, 2, 5, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      parallel_tasks(count, [&](std::int64_t n) { ++runs[static_cast<std::size_t>(n)]; });
      for (const std::atomic<int>& times : runs) {
        EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST(Parallel, RangesDoNotDependOnThreads) {
  for (int threads : {1, 2, 5}) {
    const Threads scope(threads);
    std::vector<std::int64_t> ends(4);
    parallel_ranges(10, 3, [&](std::int64_t first, std::int64_t last) {
      ends[static_cast<std::size_t>(first / 3)] = last;
    });
    EXPECT_EQ(ends, (std::vector<std::int64_t>{3, 6, 9, 10}));
  }
}

TEST(Parallel, TheFirstErrorReachesTheCaller) {
  for (int threads : {1, 2, 4}) {
    const Threads scope(threads);
    try {
      parallel_tasks(40, [](std::int64_t n) { require<DataError>(n < 7, "task {} fails", n); });
      ADD_FAILURE() << "no error arrived";
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "task 7 fails");
    }
  }
}

TEST(Parallel, TasksWithinTasksRunInTheirThread) {
  const Threads scope(3);
  std::atomic<int> runs = 0;
  parallel_tasks(4, [&](std::int64_t) { parallel_tasks(5, [&](std::int64_t) { ++runs; }); });
  EXPECT_EQ(runs, 20);
}

TEST(Parallel, ThereIsAtLeastOneThread) { EXPECT_THROW(set_num_threads(0), InvalidArgument); }

// Trains a few steps of a model with large and small layers and returns losses and parameters.
std::vector<Tensor> train(int threads, const std::function<Var(Graph&)>& build,
                          const Feeds& feeds) {
  const Threads scope(threads);
  Session session({.seed = 3});
  Graph graph = session.graph();
  const Var loss = build(graph);
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.05})});
  std::vector<Tensor> found;
  for (int i = 0; i < 3; ++i) {
    found.push_back(step(feeds)[0]);
  }
  for (const auto& state : session.states().all()) {
    found.push_back(state.second);
  }
  return found;
}

void expect_same_bits(const std::function<Var(Graph&)>& build, const Feeds& feeds) {
  const std::vector<Tensor> want = train(1, build, feeds);
  for (int threads : {2, 3, 4, 7}) {
    const std::vector<Tensor> got = train(threads, build, feeds);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(bit_equal(got[i], want[i])) << threads << " threads, value " << i;
    }
  }
}

Tensor ramp(const Shape& shape) {
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  }
  return result;
}

Tensor labels(std::int64_t count) {
  Tensor result = Tensor::empty(i64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    result.data<std::int64_t>()[i] = i % 10;
  }
  return result;
}

TEST(AnyNumberOfThreads, GivesTheSameMlp) {
  expect_same_bits(
      [](Graph& graph) {
        const Var x = graph.input("x", f32, {96, 300}), label = graph.input("label", i64, {96});
        return mean(cross_entropy(nn::mlp(x, {257, 129, 10}), label));
      },
      {{"x", ramp({96, 300})}, {"label", labels(96)}});
}

TEST(AnyNumberOfThreads, GivesTheSameConvolutions) {
  expect_same_bits(
      [](Graph& graph) {
        const Var x = graph.input("x", f32, {13, 3, 17, 17}),
                  label = graph.input("label", i64, {13});
        const Var w = parameter("w", random_normal(graph, f32, {20, 3, 3, 3}) * 0.2);
        const Var h = max_pool(relu(conv(x, w, {.padding = {1, 1}})), {.window = {2, 2}});
        const Var v = parameter("v", random_normal(graph, f32, {24, 20, 3, 3}) * 0.1);
        const Var features = mean(tanh(conv(h, v, {.padding = {1, 1}})), {2, 3});
        return mean(cross_entropy(nn::linear(features, 10), label));
      },
      {{"x", ramp({13, 3, 17, 17})}, {"label", labels(13)}});
}

TEST(AnyNumberOfThreads, GivesTheSameRecurrence) {
  expect_same_bits(
      [](Graph& graph) {
        const Var xs = graph.input("xs", f32, {9, 33, 65}), label = graph.input("label", i64, {33});
        const Var w = parameter("w", random_normal(graph, f32, {65, 65}) * 0.1);
        const Var last = chain(zeros(graph, f32, {33, 65}), xs, [&](Var h, Var x) {
                           return tanh(matmul(h, w) + softmax(x, 1));
                         }).last;
        return mean(cross_entropy(nn::linear(last, 10), label));
      },
      {{"xs", ramp({9, 33, 65})}, {"label", labels(33)}});
}

}  // namespace
}  // namespace antichain::cpu
