#include "antichain/runtime/step_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "antichain/antichain.h"
#include "antichain/graph/traversal.h"

namespace antichain::step_order_test {

constexpr std::int64_t kWidth = 64;
constexpr std::size_t kBytes = kWidth * kWidth * sizeof(float);

std::ptrdiff_t position(const std::vector<Op>& ops, Var value) {
  const auto found = std::ranges::find(ops, value.producer());
  EXPECT_NE(found, ops.end());
  return found - ops.begin();
}

constexpr std::size_t kLayers = 10;

// Bytes of a training step of layers whose parameters are much larger than all else.
std::size_t step_bytes(const std::function<std::vector<Var>(Var loss)>& optimiser) {
  Session session;
  Graph graph = session.graph();
  Var h = graph.input("x", f32, {1, kWidth});
  for (std::size_t i = 0; i < kLayers; ++i) {
    h = tanh(matmul(h, parameter(fmt::format("w{}", i), full(graph, f32, {kWidth, kWidth}, 0.1))));
  }
  const Var loss = sum(h);
  const Executable step = session.compile({loss}, {.updates = optimiser(loss)});
  const Feeds feeds = {{"x", Tensor::full(f32, {1, kWidth}, 0.1)}};
  step(feeds);
  std::map<std::string, const void*> places;
  for (const auto& [name, value] : session.states().all()) {
    places[name] = value.raw();
  }
  step(feeds);
  for (const auto& [name, value] : session.states().all()) {
    EXPECT_EQ(value.raw(), places.at(name)) << name << " is written in its own memory";
  }
  return step.memory_report(feeds).peak_bytes;
}

TEST(StepOrder, AGradientIsUsedAsSoonAsItIsThere) {
  EXPECT_LT(step_bytes([](Var loss) { return optim::sgd(loss, {.lr = 0.1}); }), 3 * kBytes);
  // The learning rate is computed from a state, and each parameter has moments.
  EXPECT_LT(step_bytes([](Var loss) { return optim::adam(loss, {.lr = optim::cosine(9, 0.1)}); }),
            3 * kBytes);
  // The norm of all gradients is needed before the first of them is used.
  EXPECT_GE(
      step_bytes([](Var loss) { return optim::sgd(loss, {.lr = 0.1, .step = {.clip_norm = 1}}); }),
      kLayers * kBytes);
}

TEST(StepOrder, AWriteRunsBehindTheReadersOfWhatItReplaces) {
  Session session;
  Graph graph = session.graph();
  const Var w = parameter("w", ones(graph, f32, {4}));
  const Var write = add_update(graph, "w", ones(graph, f32, {4}));
  const Var view = reshape(w, {2, 2}), reader = exp(view);
  const Var after = read_state(graph, "w");
  const std::vector<Op> ops =
      order_steps(schedule(graph, std::vector<Var>{reader}, std::vector<Op>{write.producer()}));
  EXPECT_GT(position(ops, write), position(ops, reader));
  // Not behind what needs the new value.
  const std::vector<Op> both = order_steps(schedule(graph, std::vector<Var>{sum(after) + reader}));
  EXPECT_LT(position(both, write), position(both, after));
}

TEST(StepOrder, WhatIsPrintedKeepsItsOrder) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {});
  const Var first = print(x * 2, "first"), second = print(x * 3, "second");
  std::string lines;
  Executable run = session.compile({second, first});
  run.set_print_line([&](std::string_view line) { lines += line; });
  run({{"x", Tensor::scalar(1.0F)}});
  EXPECT_LT(lines.find("first"), lines.find("second"));
}

}  // namespace antichain::step_order_test
