// What the engine makes of the device that it is for.
#include <gtest/gtest.h>

#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/hashing/hashing_engine.h"
#include "antichain/nn/wide.h"
#include "antichain/passes/graph_copy.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::hashing_tests::device_test {

std::shared_ptr<const EngineSet> engines_for(HashingDevice device) {
  auto engines = std::make_shared<EngineSet>();
  engines->add(make_backprop_engine());
  engines->add(make_hashing_engine(std::move(device)));
  return engines;
}

// What is explained of an output layer, and which of its states the engine keeps.
std::string explained(const HashingDevice& device, std::int64_t units, const std::string& options) {
  const std::shared_ptr<const EngineSet> engines = engines_for(device);
  Graph graph(engines);
  const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                            .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
  const Var losses = nn::wide_losses(graph.input("x", f32, {"batch", 128}), {units}, truth,
                                     {.name = "out", .engine = "hashing" + options});
  const std::string said = engines->find("hashing").explain(losses.producer());
  EXPECT_EQ(graph.find_state("out.0.hashing.codes") != nullptr, said.starts_with("hashed: "));
  return said;
}

Support computes_for_batches(Op op) {
  const bool has_kernel = op.def().name != "active_units" || op.attrs().get<bool>("shared");
  return has_kernel ? Support{} : Support::no("no kernel for examples");
}

TEST(HashingDevice, ItsSpeedDecides) {
  const HashingDevice gpu{.kind = DeviceKind::cuda};
  EXPECT_TRUE(explained({}, 30'000, "").starts_with("hashed: "));
  EXPECT_TRUE(explained(gpu, 30'000, "").starts_with("dense: 30000 units take about"));
  EXPECT_TRUE(
      explained(gpu, 670'091, "").starts_with("hashed: 16384 of 670091 units for each batch"));
  EXPECT_TRUE(explained({}, 670'091, ":for=batch").starts_with("hashed: 4096 of 670091"));
}

TEST(HashingDevice, WhatItDoesNotComputeIsDense) {
  const HashingDevice gpu{.kind = DeviceKind::cuda, .computes = computes_for_batches};
  EXPECT_TRUE(explained(gpu, 670'091, "").starts_with("hashed: "));
  EXPECT_EQ(explained(gpu, 670'091, ":for=example"), "dense: no kernel for examples");
  EXPECT_TRUE(explained(gpu, 670'091, ":for=example,when=always").starts_with("hashed: "));
}

bool asks_the_device(const HashedTraining& training) {
  return has_op(training.executable().graph(), [](Op op) { return op.def().reads_values; });
}

TEST(HashingDevice, WholeStepsAreTheSameSteps) {
  for (const std::string options :
       {"rehash=3", "rehash=2,rehash_growth=1,transform=powers", "rehash=3,rehash_rows=all"}) {
    SCOPED_TRACE(options);
    const auto training = [&](bool whole_steps) {
      return HashedTraining({.engine = "for=batch,active=60,K=4," + options,
                             .engines = engines_for({.takes_whole_steps = whole_steps})});
    };
    HashedTraining whole = training(true), parts = training(false);
    EXPECT_FALSE(asks_the_device(whole));
    EXPECT_TRUE(asks_the_device(parts));
    for (int step = 0; step < 20; ++step) {
      EXPECT_NEAR(whole.step(), parts.step(), 1e-4) << step;
    }
    EXPECT_TRUE(same_bits(whole.own_state("next"), parts.own_state("next")));
  }
}

// Drift is looked at by rows that are drawn, others in either way.
TEST(HashingDevice, DriftInWholeSteps) {
  const auto training = [](bool whole_steps) {
    return HashedTraining({.engine = "for=batch,active=150,K=4,rehash=2,drift=0.02",
                           .engines = engines_for({.takes_whole_steps = whole_steps})});
  };
  HashedTraining whole = training(true), parts = training(false);
  EXPECT_FALSE(asks_the_device(whole));
  const Tensor codes = whole.own_state("codes").clone();
  const double loss = whole.steps(30);
  EXPECT_FALSE(same_bits(whole.own_state("codes"), codes));
  EXPECT_NEAR(loss, parts.steps(30), 0.1 * loss);
}

TEST(HashingDevice, NewFunctionsInWholeSteps) {
  HashedTraining training({.engine = "for=batch,active=60,K=4,rehash=1000,new_functions=6",
                           .engines = engines_for({.takes_whole_steps = true})});
  Tensor functions = training.own_state("functions").clone();
  for (int step = 1; step <= 13; ++step) {
    training.step();
    EXPECT_EQ(!same_bits(functions, training.own_state("functions")), step % 6 == 0) << step;
    functions = training.own_state("functions").clone();
  }
}

}  // namespace antichain::hashing_tests::device_test
