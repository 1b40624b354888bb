// What an executable does with a device: results that come late, memory that is short.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/conformance/remote_backend.h"
#include "tests/tensor/expect_error.h"

namespace antichain::device_test {

using testing::HasSubstr;

TEST(LateResults, ArriveWhenSomebodyLooks) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  const Executable run = session.compile({2 * x, sum(x)});
  std::vector<Results> all(5);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Tensor fed = Tensor::full(f32, {3}, static_cast<double>(i));
    run.start_into(all[i], {{"x", fed}});
    fed.copy_from(Tensor::full(f32, {3}, -1));
    EXPECT_TRUE(all[i].is_pending());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = static_cast<float>(i);
    EXPECT_EQ(all[i][0].to_vector<float>(), std::vector<float>(3, 2 * value));
    EXPECT_FALSE(all[i].is_pending());
    EXPECT_EQ(all[i][1].item<float>(), 3 * value);
  }
}

TEST(LateResults, AreWaitedForByAnOrdinaryRun) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Executable run = session.compile({sum(graph.input("x", f32, {"n"}))});
  Results results;
  run.start_into(results, {{"x", Tensor::full(f32, {3}, 1)}});
  run.run_into(results, {{"x", Tensor::full(f32, {3}, 2)}});
  EXPECT_FALSE(results.is_pending());
  EXPECT_EQ(results.item(), 6);
}

// Newton's method for square roots: what a run finds is what the next one is fed, on the device.
TEST(ResultsOnDevice, AreFedAgain) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  Executable run = session.compile({0.5 * (x + 2 / x), sum(x)});
  run.set_results_on_device(true);
  Tensor value = Tensor::full(f32, {3}, 1);
  for (int i = 0; i < 6; ++i) {
    const Results results = run({{"x", value}});
    ASSERT_EQ(results[0].device(), session.backend().device());
    EXPECT_EQ(results[1].device(), session.backend().device());
    value = results[0];
  }
  EXPECT_THROW(static_cast<void>(value.to_vector<float>()), DeviceError);
  for (const float root : session.backend().to_host(value).to_vector<float>()) {
    EXPECT_FLOAT_EQ(root, std::sqrt(2.0F));
  }
  run.set_results_on_device(false);
  EXPECT_FLOAT_EQ(run({{"x", value}})[1].item<float>(), 3 * std::sqrt(2.0F));
}

// A result is the caller's own, whoever holds a result of before, the feed or the state.
TEST(ResultsOnDevice, ShareNoMemory) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2});
  const Var count = parameter("count", zeros(graph, f32, {2}));
  Executable run =
      session.compile({x, count}, {.updates = {add_update(graph, "count", ones(graph, f32, {2}))}});
  run.set_results_on_device(true);
  const Backend& backend = session.backend();
  const auto on_host = [&](const Tensor& tensor) {
    return backend.to_host(tensor).to_vector<float>();
  };
  Results results;
  const Tensor fed = backend.to_device(Tensor::full(f32, {2}, 7));
  run.run_into(results, {{"x", fed}});
  EXPECT_NE(results[0].raw(), fed.raw());
  const Tensor before = results[1];
  run.run_into(results, {{"x", fed}});
  EXPECT_EQ(on_host(before), (std::vector<float>{0, 0}));
  EXPECT_EQ(on_host(results[1]), (std::vector<float>{1, 1}));
  EXPECT_EQ(on_host(session.states().get("count")), (std::vector<float>{2, 2}));
  // Memory that nobody else holds is used again.
  const void* own = results[0].raw();
  run.run_into(results, {{"x", fed}});
  EXPECT_EQ(results[0].raw(), own);
}

TEST(ResultsOnDevice, OfSizesThatTheRunFindsOut) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  Executable run = session.compile({nonzero(x)});
  run.set_results_on_device(true);
  const Results found = run({{"x", Tensor::of<float>({4}, {0, 3, 0, 5})}});
  EXPECT_EQ(found[0].device(), session.backend().device());
  EXPECT_EQ(session.backend().to_host(found[0]).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 3}));
}

TEST(ResultsOnDevice, OfACpuAreOnTheHost) {
  Session session;
  Graph graph = session.graph();
  Executable run = session.compile({graph.input("x", f32, {"n"}) + 1});
  run.set_results_on_device(true);
  EXPECT_EQ(run({{"x", Tensor::zeros(f32, {1})}})[0].item<float>(), 1);
}

// A device on which every run turns out to have failed.
class FailingBackend final : public Backend {
 public:
  std::string_view name() const override { return "failing"; }
  Device device() const override { return {DeviceKind::cuda, 0}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return remote_->allocate(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return remote_->to_device(tensor); }
  Tensor to_host(const Tensor& tensor) const override { return remote_->to_host(tensor); }
  void copy(const Tensor& to, const Tensor& from) const override { remote_->copy(to, from); }
  std::unique_ptr<Arrival> send_to_host(const Tensor&) const override {
    class Failure final : public Arrival {
      void take(const Tensor&) override { fail<DataError>("the run has failed"); }
    };
    return std::make_unique<Failure>();
  }

 private:
  std::unique_ptr<Backend> remote_ = conformance::make_remote_backend();
};

TEST(LateResults, OfAFailedRunAreNeverThere) {
  Session session(std::make_unique<FailingBackend>());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  const Executable run = session.compile({2 * x, sum(x)});
  Results results;
  run.start_into(results, {{"x", Tensor::full(f32, {3}, 1)}});
  for (int attempt = 0; attempt < 3; ++attempt) {
    expect_error<DataError>("the run has failed", [&] { results.wait(); });
    expect_error<DataError>("the run has failed", [&] { results[1].item<float>(); });
    EXPECT_TRUE(results.is_pending());
  }
}

TEST(LateResults, OfARunWithoutAnySayWhetherItFailed) {
  Session session(std::make_unique<FailingBackend>());
  Graph graph = session.graph();
  session.states().set("w", Tensor::full(f32, {2}, 1));
  const Var w = parameter("w", full(graph, f32, {2}, 1));
  const Executable step = session.compile({}, {.updates = {assign(graph, "w", 2 * w)}});
  expect_error<DataError>("the run has failed", [&] { step({}); });
}

TEST(LateResults, AreThereAtOnceOnTheHost) {
  Session session;
  Graph graph = session.graph();
  const Executable run = session.compile({sum(graph.input("x", f32, {"n"}))});
  Results results;
  run.start_into(results, {{"x", Tensor::full(f32, {3}, 1)}});
  EXPECT_FALSE(results.is_pending());
  EXPECT_EQ(results.item(), 3);
}

// The host, with little memory.
class SmallBackend final : public Backend {
 public:
  explicit SmallBackend(std::size_t most) : most_(most) {}
  std::string_view name() const override { return "small"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    require<OutOfMemory>(packed_bytes(shape, size_of(dtype)) <= most_, "out of memory on small");
    return Tensor::empty(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return tensor; }
  Tensor to_host(const Tensor& tensor) const override { return tensor; }
  void copy(const Tensor& to, const Tensor& from) const override { to.copy_from(from); }

 private:
  std::size_t most_;
};

// The host, which threads share by turns: it looks whether kernels run in one.
class HeldBackend final : public Backend {
 public:
  explicit HeldBackend(int& seen) {
    const auto look = [this, &seen] {  // in another thread: this one may hold it several times
      if (mutex_.try_lock()) {
        mutex_.unlock();
      } else {
        ++seen;
      }
    };
    kernels_.add(find_op("negate"), {.name = "looking",
                                     .supports = [](Op) { return Support{}; },
                                     .run = [look](KernelContext&) { std::thread(look).join(); }});
  }
  std::string_view name() const override { return "held"; }
  Device device() const override { return {}; }
  std::unique_lock<std::recursive_mutex> hold() const override { return std::unique_lock(mutex_); }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return Tensor::empty(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return tensor; }
  Tensor to_host(const Tensor& tensor) const override { return tensor; }
  void copy(const Tensor& to, const Tensor& from) const override { to.copy_from(from); }

 private:
  mutable std::recursive_mutex mutex_;
};

TEST(Threads, HoldADeviceWhileTheyRunOnIt) {
  int seen = 0;
  Session session(std::make_unique<HeldBackend>(seen));
  Graph graph = session.graph();
  const Executable run = session.compile({negate(graph.input("x", f32, {2}))});
  run({{"x", Tensor::zeros(f32, {2})}});
  EXPECT_EQ(seen, 1);
  Eager eager(session);
  negate(eager(Tensor::full(f32, {2}, 3))).value();
  EXPECT_EQ(seen, 2);
}

TEST(ShortMemory, IsToldWithThePlanAndWhatHelps) {
  Session session(std::make_unique<SmallBackend>(100'000));
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", "n"});
  const Executable run = session.compile({sum(matmul(matmul(x, x), x))});
  EXPECT_EQ(run({{"x", Tensor::full(f32, {10, 10}, 0)}}).item(), 0);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      run({{"x", Tensor::full(f32, {200, 200}, 1)}});
      ADD_FAILURE() << "100 kB were enough";
    } catch (const OutOfMemory& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("out of memory on small; values in between "));
      EXPECT_THAT(error.what(), HasSubstr("the largest are 156.2 KiB of matmul"));
      EXPECT_THAT(error.what(), HasSubstr("--memory-budget"));
    }
  }
  EXPECT_EQ(run({{"x", Tensor::full(f32, {10, 10}, 0)}}).item(), 0);
}

// A kernel that wants memory to work in for certain sizes.
class HungryBackend final : public Backend {
 public:
  HungryBackend() {
    kernels_.add(find_op("negate"),
                 {.name = "hungry",
                  .supports = [](Op) { return Support{}; },
                  .plan = [](const KernelContext& context) -> KernelFunction {
                    require<OutOfMemory>(context.out().numel() < 100, "out of memory on hungry");
                    if (context.out().numel() == 50) {
                      throw std::bad_alloc();
                    }
                    return [](KernelContext& run) { run.out().copy_from(run.in(0)); };
                  }});
  }
  std::string_view name() const override { return "hungry"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return Tensor::empty(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return tensor; }
  Tensor to_host(const Tensor& tensor) const override { return tensor; }
  void copy(const Tensor& to, const Tensor& from) const override { to.copy_from(from); }
};

TEST(ShortMemory, OfAKernelIsToldAsSuch) {
  Session session(std::make_unique<HungryBackend>());
  Graph graph = session.graph();
  const Executable run = session.compile({negate(graph.input("x", f32, {"n"}))});
  expect_error<OutOfMemory>(
      "out of memory on hungry; that was memory for a kernel to work in, and a smaller batch may "
      "need less",
      [&] {
        run({{"x", Tensor::zeros(f32, {100})}});
      });
  expect_error<DeviceError>("out of memory on cpu while kernels were made ready", [&] {
    run({{"x", Tensor::zeros(f32, {50})}});
  });
  EXPECT_NO_THROW(run({{"x", Tensor::zeros(f32, {10})}}));
}

TEST(Memory, CopiesOfFeedsAreCounted) {
  Session session(conformance::make_remote_backend());
  Graph graph = session.graph();
  const Executable run = session.compile({negate(graph.input("x", f32, {"n"}))});
  run({{"x", Tensor::zeros(f32, {1000})}});
  const std::size_t once = run.memory_bytes();
  EXPECT_GE(once, 4000U);
  run({{"x", Tensor::zeros(f32, {1000})}});
  EXPECT_EQ(run.memory_bytes(), once);
  run({{"x", Tensor::zeros(f32, {500})}});
  EXPECT_EQ(run.memory_bytes(), once + 2000);
}

TEST(ShortMemory, NamesTheLargestValues) {
  MemoryReport report{.peak_bytes = 3 << 20};
  for (const int size : {1, 4, 2, 3}) {
    report.values.push_back(
        {.where = fmt::format("op {}", size), .bytes = static_cast<std::size_t>(size) << 18});
  }
  EXPECT_STREQ(explained(OutOfMemory("no room"), report).what(),
               "no room; values in between take 3.0 MiB at once, the largest are 1.0 MiB of op 4, "
               "768.0 KiB of op 3, 512.0 KiB of op 2; a memory budget (--memory-budget, "
               "CompileOptions::memory_budget) keeps fewer of them, and a smaller batch makes them "
               "smaller");
  EXPECT_STREQ(explained(OutOfMemory("no room"), {}).what(),
               "no room; values in between take 0 B at once; a memory budget (--memory-budget, "
               "CompileOptions::memory_budget) keeps fewer of them, and a smaller batch makes them "
               "smaller");
}

}  // namespace antichain::device_test
