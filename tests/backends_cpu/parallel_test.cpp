#include "antichain/backends/cpu/threads/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "antichain/antichain.h"
#include "antichain/base/usable_cores.h"
#include "tests/backends_cpu/threads.h"

namespace antichain::cpu::parallel_test {

TEST(Parallel, EveryTaskRunsOnce) {
  for (int threads : {1, 2, 3, 7, 100}) {
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

TEST(Parallel, SeveralThreadsMayCallAtOnce) {
  const Threads scope(3);
  constexpr int kCallers = 12, kRounds = 50, kTasks = 20;  // more callers than jobs
  std::atomic<int> runs = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          std::atomic<int> own = 0;
          parallel_tasks(kTasks, [&](std::int64_t) {
            ++own;
            ++runs;
          });
          EXPECT_EQ(own, kTasks);  // all of them have ended when the call returns
        }
      });
    }
  }
  EXPECT_EQ(runs, kCallers * kRounds * kTasks);
}

// Who waits for others sleeps in the end, and so do workers between jobs.
TEST(Parallel, SleepersAreWoken) {
  const Threads scope(2);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> runs = 0;
    parallel_tasks(2, [&](std::int64_t) {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
    EXPECT_EQ(runs, 2);
  }
}

cpu_set_t cores_of_this_thread() {
  cpu_set_t cores;
  EXPECT_EQ(sched_getaffinity(0, sizeof(cores), &cores), 0);
  return cores;
}

// Also where OpenMP binds the first thread to a core (OMP_PROC_BIND; the test is run so, too).
TEST(Parallel, WorkersHaveCoresOfTheirOwn) {
  if (std::thread::hardware_concurrency() < 2) {
    GTEST_SKIP() << "there is one core";
  }
  const Threads scope(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> came = false;
  std::atomic<int> running = 0;
  cpu_set_t of_worker;
  for (int attempt = 0; attempt < 100 && !came; ++attempt) {  // the worker may come too late
    running = 0;
    parallel_tasks(2, [&](std::int64_t) {
      if (std::this_thread::get_id() != caller) {
        of_worker = cores_of_this_thread();
        came = true;
      }
      ++running;
      for (int i = 0; i < 100 && running < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  ASSERT_TRUE(came);
  cpu_set_t all;
  const cpu_set_t of_caller = cores_of_this_thread();
  CPU_OR(&all, &of_worker, &of_caller);
  EXPECT_GE(CPU_COUNT(&all), 2);
}

// A child process has none of its parent's threads.
TEST(Parallel, AForkedProcessComputes) {
  const Threads scope(3);
  std::atomic<int> runs = 0;
  const auto count = [&runs](std::int64_t) { ++runs; };
  parallel_tasks(10, count);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    parallel_tasks(10, count);
    _exit(runs == 20 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Parallel, ThereIsAtLeastOneThread) {
  EXPECT_THROW(set_num_threads(0), InvalidArgument);
  EXPECT_THROW(set_num_threads(100'000), InvalidArgument);
}

TEST(DefaultThreads, AreWhatTheEnvironmentSays) {
  EXPECT_EQ(default_threads("3", nullptr), 3);
  EXPECT_EQ(default_threads("3", "5"), 3);
  EXPECT_EQ(default_threads("", "5"), 5);
  EXPECT_EQ(default_threads(nullptr, "5,2"), 5);
  EXPECT_EQ(default_threads(nullptr, "many"), usable_cores());
  EXPECT_EQ(default_threads(nullptr, nullptr), usable_cores());
}

TEST(DefaultThreads, MustBeANumber) {
  for (const char* wrong : {"0", "-1", "two", "2 ", "100000", "99999999999999999999"}) {
    try {
      default_threads(wrong, nullptr);
      ADD_FAILURE() << wrong << " is taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), std::string("ANTICHAIN_THREADS is '") + wrong +
                                  "'; it must be a number of threads from 1 to 1024");
    }
  }
}

TEST(DefaultThreads, OfOpenMPAreNotAnyNumberEither) {
  for (const char* wrong : {"100000", "1025,4"}) {
    try {
      default_threads(nullptr, wrong);
      ADD_FAILURE() << wrong << " is taken";
    } catch (const InvalidArgument& error) {
      EXPECT_EQ(error.what(), std::string("OMP_NUM_THREADS is '") + wrong +
                                  "'; it must be a number of threads from 1 to 1024");
    }
  }
  for (const char* nonsense : {"0", "-1", "99999999999999999999"}) {  // as OpenMP ignores it
    EXPECT_EQ(default_threads(nullptr, nonsense), usable_cores()) << nonsense;
  }
}

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

}  // namespace antichain::cpu::parallel_test
