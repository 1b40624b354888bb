// Which updates become one, and that they change nothing else.
#include "antichain/passes/fusion/batch_updates.h"

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/ops/expect_bad_input.h"
#include "tests/passes/pass_test.h"

namespace antichain::batch_updates_test {

Var model_loss(Graph& graph, DType dtype = f32) {
  const Var x = graph.input("x", dtype, {"batch", 7});
  const std::vector<std::int64_t> widths = {5, 3};
  return mean(square(nn::mlp(x, widths, {.activation = tanh})));
}

GraphCopy batched(Var loss, const std::vector<Var>& updates) {
  std::vector<Op> effects;
  for (Var update : updates) {
    effects.push_back(update.producer());
  }
  GraphCopy copy = batch_updates(copy_graph(loss.graph(), std::vector<Var>{loss}, effects));
  verify(*copy.graph);
  return copy;
}

TEST(BatchUpdates, OneRuleIsOneOp) {
  Session session;
  Graph graph = session.graph();
  const Var loss = model_loss(graph);
  const GraphCopy copy = batched(loss, optim::adam(loss));
  ASSERT_EQ(count_needed(copy, "adam_update"), 1U);
  for (Op op : schedule(*copy.graph, copy.values, copy.ops)) {
    if (op.def().name == "adam_update") {
      EXPECT_EQ(op.num_outputs(), 4);
      EXPECT_EQ(op.num_inputs(), 6);
      EXPECT_EQ(op.states().size(), 12U);
    }
  }
}

TEST(BatchUpdates, OtherNumbersAreAnotherBatch) {
  Session session;
  Graph graph = session.graph();
  const Var loss = model_loss(graph);
  const GraphCopy copy = batched(loss, optim::sgd(loss, {.momentum = 0.9,
                                                         .weight_decay = 0.1,
                                                         .step = {.decays = optim::matrices()}}));
  EXPECT_EQ(count_needed(copy, "momentum_update"), 2U);
}

TEST(BatchUpdates, LargeParametersStayAlone) {
  Session session;
  Graph graph = session.graph();
  Var loss = scalar(graph, f32, 0);
  for (const std::int64_t size : {3, 4, 2 << 20, 3 << 20}) {
    loss = loss + sum(square(parameter("w" + std::to_string(size), zeros(graph, f32, {size}))));
  }
  EXPECT_EQ(count_needed(batched(loss, optim::sgd(loss)), "descent_update"), 3U);
}

TEST(BatchUpdates, ComeBeforeWhoeverNeedsThem) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", ones(graph, f32, {2})), b = parameter("b", ones(graph, f32, {2}));
  const GradientUse use{scalar(graph, boolean, 1), scalar(graph, f64, 1), kNoLimit};
  const auto step = [&](const char* state, Var gradient) {
    return update_states(descent_update_def(), {state}, gradient, use, {0.5, 0.0});
  };
  // The second step of b reads what the first of a has left, and starts from the first of b.
  const Var first = step("a", a), second = step("b", b), third = step("b", first);
  const GraphCopy copy = batched(first + second, {third});
  EXPECT_EQ(count_needed(copy, "descent_update"), 2U);
  const Executable run =
      session.compile({first, second, third}, {.compiler = {.batch_updates = true}});
  const Results results = run({});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(results[2].to_vector<float>(), (std::vector<float>{0.25F, 0.25F}));
  EXPECT_EQ(session.states().get("b").to_vector<float>(), (std::vector<float>{0.25F, 0.25F}));
}

using MakeUpdates = std::function<std::vector<Var>(Var loss)>;

StateStore::Values trained(const MakeUpdates& make, DType dtype, bool batch) {
  Session session({.seed = 5});
  Graph graph = session.graph();
  const Var loss = cast(model_loss(graph, dtype), f32);
  const Executable step =
      session.compile({loss}, {.updates = make(loss), .compiler = {.batch_updates = batch}});
  for (int i = 0; i < 4; ++i) {
    step({{"x", wave({4 + i, 7}, dtype)}});
  }
  return session.states().all();
}

TEST(BatchUpdates, TrainToTheSameBits) {
  const std::vector<MakeUpdates> ways = {
      [](Var loss) { return optim::sgd(loss, {.lr = 0.1, .momentum = 0.9}); },
      [](Var loss) { return optim::adam(loss, {.step = {.clip_norm = 0.1, .accumulate = 2}}); },
      [](Var loss) {
        return optim::adam(loss, {.step = {.loss_scaling = {.scale = 8, .grow_after = 2}}});
      }};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    for (const DType dtype : {f32, f64, bf16}) {
      SCOPED_TRACE(std::to_string(i) + " " + std::string(name(dtype)));
      const StateStore::Values alone = trained(ways[i], dtype, false);
      const StateStore::Values together = trained(ways[i], dtype, true);
      ASSERT_EQ(alone.size(), together.size());
      for (const auto& [state, value] : alone) {
        EXPECT_TRUE(bit_equal(value, together.at(state))) << state;
      }
    }
  }
}

TEST(BatchUpdates, StandOnTheList) {
  EXPECT_FALSE(is_enabled("batch-updates", {}));
  EXPECT_TRUE(is_enabled("batch-updates", {.batch_updates = true}));
  EXPECT_FALSE(is_enabled("batch-updates", {.level = 1, .batch_updates = true}));
  EXPECT_FALSE(is_enabled("batch-updates", {.disabled = {"batch-updates"}, .batch_updates = true}));
}

TEST(BatchUpdates, BadInput) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", ones(graph, f32, {2})), b = parameter("b", ones(graph, f64, {2}));
  const Var numbers = zeros(graph, f64, {4}), when = scalar(graph, boolean, 1);
  const auto update = [&](const std::vector<Var>& gradients, const std::string& states) {
    std::vector<Var> inputs = gradients;
    inputs.insert(inputs.end(), {numbers, when});
    graph.add(descent_update_def(), inputs, {{"state", states}});
  };
  expect_bad_input<InvalidArgument>("descent_update: state 'a' is there twice", [&] {
    update({a, a}, "a|a");
  });
  expect_bad_input<TypeError>("descent_update: gradients of f32 and f64 are not updated together",
                              [&] {
                                update({a, b}, "a|b");
                              });
  expect_bad_input<InvalidArgument>("descent_update: takes 4 inputs, got 3",
                                    [&] { update({a}, "a|b"); });
  expect_bad_input<InvalidArgument>(
      "momentum_update: its attributes name different numbers of states", [&] {
        graph.add(momentum_update_def(), {a, a, zeros(graph, f64, {8}), when},
                  {{"state", "a|c"}, {"state_1", "d"}});
      });
  EXPECT_THROW(parameter("a|b", a), InvalidArgument);
}

}  // namespace antichain::batch_updates_test
