// Threads that share a GPU: each gets the bits that it gets alone.
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <thread>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::threads_test {

class CudaThreads : public GpuTest {};

// Works in several threads at once; throws what one of them has thrown.
void in_threads(int count, const std::function<void(int thread)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        errors[static_cast<std::size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

// A model with products, a convolution, indices, random numbers and states. Its steps are recorded
// and replayed, at two sizes in turn, with memory that comes and goes in between.
std::vector<float> train(int seed) {
  Session session({.device = "cuda", .seed = seed});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 1, 12, 12}), y = graph.input("y", i64, {x.dim(0)});
  const Var image = nn::conv2d(x, 4, {3, 3}, {.name = "conv"});
  const Var flat = reshape(relu(image), {x.dim(0), 4 * 10 * 10});
  const std::vector<std::int64_t> widths = {32 + seed, 10};  // other kernels for every thread
  const Var logits = nn::mlp(nn::dropout(flat, {.rate = 0.1}), widths, {.activation = tanh});
  const Var loss = mean(nn::cross_entropy(logits, y));
  const Executable step = session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.003})});
  std::vector<float> losses;
  Results results;
  for (int i = 0; i < 150; ++i) {
    const std::int64_t batch = i % 10 == 9 ? 5 : 16;
    Tensor images = Tensor::empty(f32, {batch, 1, 12, 12}), labels = Tensor::empty(i64, {batch});
    for (std::int64_t n = 0; n < images.numel(); ++n) {
      images.data<float>()[n] = std::sin(static_cast<float>(n + seed));
    }
    for (std::int64_t n = 0; n < batch; ++n) {
      labels.data<std::int64_t>()[n] = (n + seed) % 10;
    }
    step.start_into(results, {{"x", images}, {"y", labels}});
    losses.push_back(results.item());
    if (i % 20 == 0) {
      losses.push_back(session.states().get("conv.weight").to_vector<float>()[0]);
    }
  }
  return losses;
}

TEST_F(CudaThreads, SessionsSideBySide) {
  constexpr int kThreads = 3;
  std::vector<std::vector<float>> alone, together(kThreads);
  in_threads(kThreads, [&](int i) { together[static_cast<std::size_t>(i)] = train(i); });
  for (int i = 0; i < kThreads; ++i) {
    alone.push_back(train(i));
  }
  EXPECT_EQ(alone, together);
}

TEST_F(CudaThreads, OneExecutableOfAll) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", 24});
  const Var w = parameter("w", full(graph, f32, {24, 24}, 0.1));
  const Executable run = session.compile({sum(tanh(matmul(x, w))), softmax(matmul(x, w), 1)});
  const auto results = [&](int thread) {
    std::vector<float> all;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t rows = 1 + (i + thread) % 7;
      const Results found = run({{"x", Tensor::full(f32, {rows, 24}, 0.01 * (i + thread))}});
      all.push_back(found.item());
      all.push_back(found[1].to_vector<float>().back());
    }
    return all;
  };
  constexpr int kThreads = 4;
  std::vector<std::vector<float>> alone, together(kThreads);
  in_threads(kThreads, [&](int i) { together[static_cast<std::size_t>(i)] = results(i); });
  for (int i = 0; i < kThreads; ++i) {
    alone.push_back(results(i));
  }
  EXPECT_EQ(alone, together);
}

// The second run is recorded, and needs memory that the first did not: somebody holds the state.
TEST_F(CudaThreads, MemoryMayBeTakenWhileARunIsRecorded) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var w = parameter("w", full(graph, f32, {1000}, 1));
  const Executable step = session.compile({sum(w)}, {.updates = {add_update(graph, "w", w)}});
  auto expect_next = [&, expected = 1000.F]() mutable {
    EXPECT_EQ(step({}).item(), expected);
    expected *= 2;
  };
  expect_next();
  {
    const Tensor held = session.states().get("w", session.backend());
    expect_next();
    expect_next();
    EXPECT_EQ(session.backend().to_host(held).to_vector<float>(), std::vector<float>(1000, 2));
  }
  for (int i = 0; i < 5; ++i) {
    expect_next();
  }
}

}  // namespace antichain::threads_test
