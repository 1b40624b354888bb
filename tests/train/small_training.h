// A small model and its training, for tests of the trainer.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "antichain/nn/layers.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/random.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "antichain/train/trainer.h"

namespace antichain::trainer_test {

/// Returns points in a plane, of two classes.
inline data::DatasetPtr points(std::int64_t count) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = std::sin(static_cast<float>(i)), b = std::cos(3 * static_cast<float>(i));
    x.insert(x.end(), {a, b});
    y.push_back(a * b > 0 ? 1 : 0);
  }
  return std::make_shared<data::TensorDataset>(
      data::Batch{{"x", Tensor::of(Shape{count, 2}, x)}, {"y", Tensor::of(Shape{count}, y)}});
}

/// A classifier with noise in its input, momentum and a batch that does not divide the data:
/// whatever is forgotten in a checkpoint shows.
struct Model {
  explicit Model(double lr = 0.1, std::unique_ptr<Backend> backend = nullptr)
      : session(backend ? Session(std::move(backend)) : Session()),
        graph(session.graph()),
        step(compile_step(lr)),
        evaluation(compile_evaluation()) {}

  Var logits(Var x) { return nn::mlp(x, {8, 2}); }
  Executable compile_step(double lr) {
    const Var x = graph.input("x", f32, {"n", 2}), y = graph.input("y", i64, {"n"});
    const Var noise = random_normal(graph, f32, x.shape()) * 0.1;
    const Var loss = mean(cross_entropy(logits(x + noise), y));
    return session.compile({loss}, {.updates = optim::sgd(loss, {.lr = lr, .momentum = 0.9})});
  }
  Executable compile_evaluation() {
    Graph other = session.graph();
    const Var x = other.input("x", f32, {"n", 2}), y = other.input("y", i64, {"n"});
    const Var out = logits(x);
    return session.compile({cross_entropy(out, y), cast(equal(argmax(out, -1), y), f32)});
  }
  TrainResult train(const TrainOptions& options) {
    data::Batches batches(points(50), {.batch = 16, .seed = 5});
    return Trainer({.step = step,
                    .batches = batches,
                    .states = session.states(),
                    .evaluations = {{"test", evaluation, points(20), 7}}},
                   options)
        .run();
  }

  Session session;
  Graph graph;
  Executable step, evaluation;
};

inline void expect_same_states(Model& a, Model& b) {
  ASSERT_EQ(a.session.states().all().size(), b.session.states().all().size());
  for (const auto& [name, value] : a.session.states().all()) {
    EXPECT_TRUE(bit_equal(value, b.session.states().get(name))) << name;
  }
}

}  // namespace antichain::trainer_test
