#include "tests/optim/lazy_training.h"

#include <gtest/gtest.h>

#include <cstring>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/sgd.h"

namespace antichain::optim::lazy_rows_test {

std::vector<NamedOptimiser> lazy_optimisers() {
  const auto by = [](auto function, auto options) {
    return [=](Var loss, const StepOptions& step) {
      auto own = options;
      own.step = step;
      return function(loss, own);
    };
  };
  const auto lr = 0.05;
  return {
      {"sgd", by(sgd, SgdOptions{.lr = lr, .weight_decay = 0.1})},
      {"momentum", by(sgd, SgdOptions{.lr = lr, .momentum = 0.9, .weight_decay = 0.1})},
      {"nesterov", by(sgd, SgdOptions{.lr = lr, .momentum = 0.9, .nesterov = true})},
      {"adam", by(adam, AdamOptions{.lr = lr, .weight_decay = 0.1})},
      {"adamw", by(adamw, AdamOptions{.lr = lr, .weight_decay = 0.1})},
      {"rmsprop", by(rmsprop, RmspropOptions{.lr = lr, .weight_decay = 0.1})},
      {"rmsprop with momentum", by(rmsprop, RmspropOptions{.lr = lr, .momentum = 0.9})},
      {"adagrad", by(adagrad, AdagradOptions{.lr = lr, .weight_decay = 0.1})},
  };
}

Var table(Graph& graph, DType dtype) {
  const Var key = constant(graph, Tensor::of<std::int64_t>({2}, {3, 1}));
  return parameter("table", cast(random_normal(graph, f32, {kRows, kWidth}, {.key = key}), dtype));
}

Var one_lookup(Var table, Var ids) { return mean(square(embedding(table, ids) - 0.5)); }

Var several_lookups(Var table, Var ids) {
  const Var bags = modulo(iota(ids.graph(), i64, kBatch), 3);
  const Var first = antichain::index(ids, 1, 0);
  return one_lookup(table, ids) + mean(exp(0.1 * gather(table, ids))) +
         mean(square(embedding_bag(table, first, bags, 3, BagMode::mean))) +
         sum(gather(table, modulo(first + 5, kRows)));
}

Tensor ids_of_run(int run) {
  std::vector<std::int64_t> ids;
  for (std::int64_t k = 0; k < kBatch * kTimes; ++k) {
    ids.push_back((k * k * 3 + 17 * run) % (k % 2 == 0 ? 13 : kRows));
  }
  return Tensor::of<std::int64_t>({kBatch, kTimes}, ids);
}

StateStore::Values trained(const Optimiser& optimiser, const Training& training, int runs) {
  Session session;
  Graph graph = session.graph();
  const Var ids = training.symbolic ? graph.input("ids", i64, {"batch", kTimes})
                                    : graph.input("ids", i64, {kBatch, kTimes});
  const Var loss = training.model(table(graph, training.dtype), ids);
  const Executable run = session.compile(
      {loss}, {.updates = optimiser(loss, training.step), .compiler = training.compiler});
  for (int n = 0; n < runs; ++n) {
    run({{"ids", ids_of_run(n)}});
  }
  return session.states().all();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void expect_same_bits(const StateStore::Values& a, const StateStore::Values& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    EXPECT_TRUE(same_bits(value, b.at(name))) << name;
  }
}

std::vector<StepOptions> step_options() {
  return {{},
          {.clip_norm = 0.05},
          {.clip_value = 1e-3},
          {.accumulate = 3},
          {.clip_norm = 0.05, .accumulate = 2},
          {.loss_scaling = {.scale = 1024, .grow_after = 2}},
          {.accumulate = 2, .loss_scaling = {.scale = 1024, .grow_after = 2}}};
}

}  // namespace antichain::optim::lazy_rows_test
