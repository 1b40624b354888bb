// A step at known sizes allocates nothing, and graphs keep few pieces of memory. This program
// counts every allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "antichain/antichain.h"
#include "antichain/backends/cpu/cpu_backend.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/passes/graph_copy.h"

namespace {
std::atomic<long> allocations{0}, kept{0};
}

// Not inlined: GCC then takes malloc for the function that these replace.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  ++kept;
  if (void* memory = std::malloc(bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  kept -= memory != nullptr ? 1 : 0;
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace antichain {
namespace {

// The CPU backend with BLAS as the only library: others allocate inside their own calls.
class CountedBackend final : public Backend {
 public:
  CountedBackend() {
    for (const OpDef* def : op_catalogue()) {
      for (const Kernel& kernel : inner_->kernels().candidates(*def)) {
        if (kernel.name.find("onednn") == std::string::npos) {
          kernels_.add(*def, kernel);
        }
      }
    }
  }
  std::string_view name() const override { return "counted"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    Tensor result = inner_->allocate(dtype, shape);
    largest_ = std::max(largest_, result.bytes());
    return result;
  }
  /// Returns the most bytes that were allocated at once.
  std::size_t largest() const { return largest_; }

  Tensor to_device(const Tensor& tensor) const override { return tensor; }
  Tensor to_host(const Tensor& tensor) const override { return tensor; }
  void copy(const Tensor& to, const Tensor& from) const override { inner_->copy(to, from); }
  int lanes() const override { return inner_->lanes(); }
  StepTime step_time(Op op, const DimEnv& sizes) const override {
    return inner_->step_time(op, sizes);
  }
  void run_lanes(int count, FunctionRef<void(int lane)> run) const override {
    inner_->run_lanes(count, run);
  }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend();
  mutable std::size_t largest_ = 0;
};

// Reference kernels allocate, and without BLAS there is no other for products.
bool has_blas() {
  Session session(std::make_unique<CountedBackend>());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2, 2});
  const Op product = matmul(x, x).producer();
  return session.backend().kernels().choose(product, session.logger()).name != kReferenceKernel;
}

long allocations_of_a_step(const Executable& run, const Feeds& feeds) {
  Results results;
  for (int i = 0; i < 3; ++i) {
    run.run_into(results, feeds);
  }
  const long before = allocations;
  run.run_into(results, feeds);
  return allocations - before;
}

using Optimiser = std::function<std::vector<Var>(Var loss)>;

long allocations_of_training(const Optimiser& optimiser) {
  Session session(std::make_unique<CountedBackend>());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 40});
  const Var label = graph.input("label", i64, {"batch"});
  const Var loss = mean(cross_entropy(nn::mlp(x, {16, 16, 5}), label));
  const Executable step = session.compile({loss}, {.updates = optimiser(loss)});
  const Feeds feeds = {{"x", Tensor::full(f32, {8, 40}, 0.5)}, {"label", Tensor::zeros(i64, {8})}};
  return allocations_of_a_step(step, feeds);
}

TEST(Allocation, ATrainingStepAllocatesNothing) {
  if (!has_blas()) {
    GTEST_SKIP() << "this build multiplies matrices by reference";
  }
  EXPECT_EQ(allocations_of_training([](Var loss) { return optim::sgd(loss, {.lr = 0.1}); }), 0);
  const auto with_all_options = [](Var loss) {
    return optim::adamw(
        loss,
        {.lr = optim::cosine(100, 0.1),
         .weight_decay = 0.1,
         .step = {.clip_norm = 1, .accumulate = 2, .loss_scaling = {.scale = 8, .grow_after = 2}}});
  };
  EXPECT_EQ(allocations_of_training(with_all_options), 0);
}

// Not even one in which rows are hashed and sorted into tables anew.
TEST(Allocation, AStepOfHashedLayersAllocatesNothing) {
  if (!has_blas()) {
    GTEST_SKIP() << "this build multiplies matrices by reference";
  }
  for (const char* options : {"for=example", "for=batch", "family=dwta,probes=2", "family=minhash",
                              "transform=powers,select=vanilla,bucket=8,policy=fifo",
                              "select=threshold,drift=0.001,rehash_rows=all", "new_functions=1"}) {
    SCOPED_TRACE(options);
    Session session(std::make_unique<CountedBackend>());
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"batch", 24});
    const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                              .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
    const std::string engine = "hashing:when=always,active=30,K=2,L=6,rehash=1,rehash_growth=1,";
    const Var loss =
        mean(nn::wide_losses(x, {100, 200}, truth, {.name = "out", .engine = engine + options}));
    const Executable step = session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.1})});
    const Feeds feeds = {{"x", Tensor::full(f32, {8, 24}, 0.5)},
                         {"labels", Tensor::zeros(i64, {8})},
                         {"starts", Tensor::of<std::int64_t>({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8})}};
    EXPECT_EQ(allocations_of_a_step(step, feeds), 0);
  }
}

// Where every op had memory of its own, compiling large graphs took longer per op than small ones.
TEST(Allocation, AGraphKeepsNoPieceOfMemoryPerOp) {
  constexpr int kOps = 3000;
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 2}), w = graph.input("w", f32, {2, 2});
  Var h = x;
  while (graph.num_ops() < kOps) {
    h = tanh(matmul(h, w) + sum(x * h, {-1}, true));
  }
  const long before = kept;
  const GraphCopy copy = copy_graph(graph, std::vector<Var>{h}, {});
  EXPECT_EQ(copy.graph->num_ops(), graph.num_ops());
  EXPECT_LT(kept - before, kOps / 10);
}

TEST(Allocation, BranchesAllocateNothing) {
  if (!has_blas()) {
    GTEST_SKIP() << "this build multiplies matrices by reference";
  }
  Session session(std::make_unique<CountedBackend>());
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {32, 64});
  const std::vector<std::int64_t> widths(6, 64);
  const Var loss =
      mean(square(nn::mlp(x, widths, {.name = "a"}) - nn::mlp(x, widths, {.name = "b"})));
  const Executable step = session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.1})});
  const Feeds feeds = {{"x", Tensor::full(f32, {32, 64}, 0.5)}};
  EXPECT_EQ(allocations_of_a_step(step, feeds), 0);
  EXPECT_EQ(step.memory_report(feeds).num_parallel_steps > 0, cpu::num_threads() > 1);
}

TEST(Allocation, AChainAllocatesNothingWhateverItsLength) {
  if (!has_blas()) {
    GTEST_SKIP() << "this build multiplies matrices by reference";
  }
  Session session(std::make_unique<CountedBackend>());
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {4, 40}), xs = graph.input("xs", f32, {"t", 4, 40});
  const Var w = parameter("w", full(graph, f32, {40, 40}, 0.1));
  const Var y = sum(chain(h, xs, [&](Var s, Var x) { return tanh(matmul(s, w) + x); }).last);
  const Executable forward = session.compile({y}), both = session.compile({y, grad(y, w)});
  const Feeds feeds = {{"h", Tensor::full(f32, {4, 40}, 0.1)},
                       {"xs", Tensor::full(f32, {50, 4, 40}, 0.1)}};
  EXPECT_EQ(allocations_of_a_step(forward, feeds), 0);
  EXPECT_EQ(allocations_of_a_step(both, feeds), 0);
}

TEST(Allocation, TheMemoryReportTellsWhatIsAllocated) {
  auto owned = std::make_unique<CountedBackend>();
  const CountedBackend& backend = *owned;
  Session session(std::move(owned));
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 12});
  const Var loss = mean(square(nn::mlp(x, {160, 16, 5})));
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.1})});
  for (std::int64_t batch : {32, 64}) {
    const Feeds feeds = {{"x", Tensor::full(f32, {batch, 12}, 0.5)}};
    step(feeds);
    const MemoryReport report = step.memory_report(feeds);
    EXPECT_EQ(report.peak_bytes, backend.largest());
    EXPECT_EQ(report.peak_bytes, step.memory_bytes());
    EXPECT_GE(report.peak_bytes, report.bound_bytes);
  }
}

}  // namespace
}  // namespace antichain
