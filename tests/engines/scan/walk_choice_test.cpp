// Which way the engine takes through a chain, by its sizes, the device and what it was told.
#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"

namespace antichain::walk_choice_test {

// An RNN with so many hidden units in a session with these options: what the engine says of its
// chain, and whether its gradient has a scan, of this algorithm.
struct Walk {
  std::string how, algorithm;
  bool by_scan = false;
};
Walk walk_of(const SessionOptions& options, std::int64_t batch, std::int64_t hidden) {
  Session session(options);
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {batch, hidden}),
            xs = graph.input("xs", f32, {50, batch, hidden}),
            w = graph.input("w", f32, {hidden, hidden});
  const auto cell = [&](Var s, Var x) { return tanh(matmul(s, w) + x); };
  const Var last = chain(h, xs, cell, {.engine = "scan"}).last;
  Walk walk;
  walk.how = session.engines().find("scan").explain(last.producer());
  for (Op op : schedule(graph, grad(sum(last), std::vector<Var>{w}))) {
    if (&op.def() == &affine_scan_def()) {
      walk.by_scan = true;
      walk.algorithm = op.attrs().get<std::string>("algorithm");
    }
  }
  return walk;
}

TEST(WalkChoice, ChoosesTheFasterWay) {
  const Walk small = walk_of({}, 2, 4), large = walk_of({}, 16, 64);
  EXPECT_TRUE(small.by_scan);
  EXPECT_THAT(small.how, testing::StartsWith("by a scan: a step takes about "));
  EXPECT_THAT(small.how, testing::HasSubstr("by a scan of Jacobians of 4 x 4"));
  EXPECT_FALSE(large.by_scan);
  EXPECT_THAT(large.how, testing::StartsWith("step by step: a step takes about "));
  // What cannot be scanned is walked step by step.
  EXPECT_FALSE(walk_of({}, 1, 2000).by_scan);
  EXPECT_THAT(walk_of({}, 1, 2000).how,
              testing::StartsWith("step by step, since its steps mix 2000 numbers"));
}

TEST(WalkChoice, DoesAsTheSessionSays) {
  const Walk always = walk_of({.engines = {"scan:when=always"}}, 16, 64);
  EXPECT_TRUE(always.by_scan);
  EXPECT_EQ(always.how, "by a scan, as it was asked for");
  const Walk chunked = walk_of({.engines = {"scan:algorithm=chunked,chunk=9"}}, 2, 4);
  EXPECT_EQ(chunked.algorithm, kScanChunked);
  const std::unique_ptr<GradientEngine> never = make_scan_engine({.when = ScanWhen::never});
  Graph graph;
  const Var h = graph.input("h", f32, {4}), xs = graph.input("xs", f32, {3, 4});
  const Var last = chain(h, xs, [](Var s, Var x) { return s * x; }).last;
  EXPECT_EQ(never->explain(last.producer()), "step by step: this device has no kernel for scans");
}

// A gated cell whose weights are not the same in all steps, as a chain of this many.
std::string how_on_a_gpu(const ScanOptions& options, DType dtype, Dim length, std::int64_t batch,
                         std::int64_t hidden) {
  Graph graph;
  const Var h = graph.input("h", dtype, {batch, hidden}),
            xs = graph.input("xs", dtype, {length, batch, hidden}),
            w = graph.input("w", dtype, {hidden, hidden});
  const auto cell = [&](Var s, Var x) {
    const Var z = matmul(s * s, w) + x;
    return tanh(z) * sigmoid(z) + s * square(z);
  };
  const Var last = chain(h, xs, cell, {.engine = "scan"}).last;
  return make_scan_engine(options)->explain(last.producer());
}

TEST(WalkChoice, ChoosesForAGpu) {
  const ScanOptions gpu{
      .when = ScanWhen::where_faster, .weighted = true, .device = DeviceKind::cuda};
  EXPECT_THAT(how_on_a_gpu(gpu, f32, 1000, 16, 20),
              testing::MatchesRegex("by a scan: 1000 steps take about .* ms by a scan of Jacobians "
                                    "of 20 x 20, .* ms one after the other"));
  // Few steps, wide ones, and too many of them.
  EXPECT_THAT(how_on_a_gpu(gpu, f32, 8, 16, 20), testing::StartsWith("step by step: 8 steps"));
  EXPECT_THAT(how_on_a_gpu(gpu, f32, 1000, 2, 300),
              testing::StartsWith("step by step: 1000 steps"));
  EXPECT_EQ(how_on_a_gpu(gpu, f64, 1 << 20, 16, 16),
            "step by step: Jacobians of 16 x 16 of all steps would take 32 GiB");
  EXPECT_EQ(how_on_a_gpu(gpu, bf16, 1000, 16, 20),
            "step by step: this device scans f32 and f64, not bf16");
  ScanOptions tree = gpu;
  tree.algorithm = kScanBlelloch;
  EXPECT_EQ(how_on_a_gpu(tree, f32, 1000, 16, 20),
            "step by step: this device has no kernel for the algorithm blelloch, which was asked "
            "for");
  Graph graph;
  const Var h = graph.input("h", f32, {"batch", 4}), xs = graph.input("xs", f32, {3, "batch", 4});
  const Var last = chain(h, xs, [](Var s, Var x) { return tanh(s) * x; }).last;
  EXPECT_EQ(make_scan_engine(gpu)->explain(last.producer()), "by a scan of diagonal Jacobians");
}

// What a run will have is told by what is expected, not guessed.
TEST(WalkChoice, ChoosesByExpectedSizes) {
  const auto how = [](const ScanOptions& options, const DimInfo& time, const DimInfo& batch) {
    Graph graph;
    const Dim steps = graph.dim("time", time), rows = graph.dim("batch", batch);
    const Var h = graph.input("h", f32, {rows, 16}), xs = graph.input("xs", f32, {steps, rows, 16}),
              w = graph.input("w", f32, {16, 16});
    const auto cell = [&](Var s, Var x) {
      const Var z = matmul(s * s, w) + x;
      return tanh(z) * sigmoid(z) + s * square(z);
    };
    const Var last = chain(h, xs, cell, {.engine = "scan"}).last;
    return make_scan_engine(options)->explain(last.producer());
  };
  const ScanOptions gpu{.when = ScanWhen::where_faster, .device = DeviceKind::cuda};
  EXPECT_THAT(how(gpu, {.expected = 2000}, {.expected = 4}),
              testing::StartsWith("by a scan: 2000 steps take about "));
  EXPECT_EQ(how(gpu, {.expected = 1 << 20}, {.expected = 32}),
            "step by step: Jacobians of 16 x 16 of all steps would take 32 GiB");
  // Any number of steps, and so of bytes.
  EXPECT_EQ(how(gpu, {}, {.expected = 4}),
            "step by step: Jacobians of 16 x 16 of all steps may take any memory, since nobody has "
            "said how many steps to expect (DimInfo::expected of time)");
  // A step of many examples is more work either way: what a CPU is told is in the estimates.
  const ScanOptions cpu{.when = ScanWhen::where_faster};
  EXPECT_NE(how(cpu, {}, {.expected = 1}), how(cpu, {}, {.expected = 1000}));
  EXPECT_EQ(how(cpu, {}, {.expected = 100}), how(cpu, {.expected = 9}, {.expected = 100}));
}

// Weights that stay the same: by a scan where states are narrow and steps many.
TEST(WalkChoice, ChoosesForWeightsOnAGpu) {
  const auto how = [](Dim length, std::int64_t batch, std::int64_t units) {
    Graph graph;
    const Var h = graph.input("h", f32, {batch, units}),
              xs = graph.input("xs", f32, {length, batch, units}),
              w = graph.input("w", f32, {units, units});
    const auto cell = [&](Var s, Var x) { return tanh(matmul(s, w) + x); };
    const Var last = chain(h, xs, cell, {.engine = "scan"}).last;
    return make_scan_engine(
               {.when = ScanWhen::where_faster, .weighted = true, .device = DeviceKind::cuda})
        ->explain(last.producer());
  };
  EXPECT_THAT(how(1000, 16, 20),
              testing::MatchesRegex("by a scan: 1000 steps take about .* ms by a scan of weights "
                                    "that stay the same, between diagonals, .* ms one after the "
                                    "other"));
  EXPECT_THAT(how(1000, 16, 64), testing::StartsWith("by a scan: "));
  EXPECT_THAT(how(10, 16, 20), testing::StartsWith("step by step: 10 steps"));
  EXPECT_THAT(how(1000, 16, 128), testing::StartsWith("step by step: 1000 steps"));
}

}  // namespace antichain::walk_choice_test
