// Rows that stay as they are while their gradient is zero: what that means, and that it means the
// same where only the rows that were looked up are computed.
#include <gtest/gtest.h>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "tests/optim/lazy_training.h"

namespace antichain::optim::lazy_rows_test {

// The rule on all elements is another program: its rows are the new ones where the gradient is not
// zero, and where it is the old ones stay.
TEST(LazyRows, AreThoseOfTheWholeRuleWhereTheGradientIsNotZero) {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const auto& [name, build] : lazy_optimisers()) {
      SCOPED_TRACE(name);
      Session session;
      Graph graph = session.graph();
      const Var ids = graph.input("ids", i64, {kBatch, kTimes});
      const Var loss = one_lookup(table(graph, dtype), ids);
      const Executable lazy =
          session.compile({loss}, {.updates = build(loss, {.lazy_rows = looked_up()})});
      Session whole_session;
      Graph whole_graph = whole_session.graph();
      const Var whole_loss =
          one_lookup(table(whole_graph, dtype), whole_graph.input("ids", i64, {kBatch, kTimes}));
      const Executable whole =
          whole_session.compile({whole_loss}, {.updates = build(whole_loss, {})});
      for (int run = 0; run < 5; ++run) {
        const StateStore::Values before = session.states().all();
        for (const auto& [state, value] : before) {
          whole_session.states().set(state, host_memory().clone(value));
        }
        std::vector<bool> used(kRows);
        for (const std::int64_t id : ids_of_run(run).to_vector<std::int64_t>()) {
          used[static_cast<std::size_t>(id)] = true;
        }
        lazy({{"ids", ids_of_run(run)}});
        whole({{"ids", ids_of_run(run)}});
        for (const auto& [state, value] : session.states().all()) {
          if (value.rank() != 2) {
            continue;
          }
          const Tensor all = whole_session.states().get(state);
          for (std::int64_t row = 0; row < kRows; ++row) {
            const bool changes = used[static_cast<std::size_t>(row)];
            const Tensor& expected = changes ? all : before.at(state);
            ASSERT_TRUE(same_bits(value.select(0, row), expected.select(0, row)))
                << state << ", row " << row << (changes ? ", used" : "");
          }
        }
      }
    }
  }
}

TEST(LazyRows, HaveTheSameBitsInEveryForm) {
  for (const Model& model : {Model(one_lookup), Model(several_lookups)}) {
    for (const auto& [name, build] : lazy_optimisers()) {
      int number = 0;
      for (StepOptions step : step_options()) {
        SCOPED_TRACE(fmt::format("{}, options {}", name, number++));
        step.lazy_rows = looked_up();
        Training training{.step = step, .model = model};
        const StateStore::Values on_rows = trained(build, training, 7);
        training.compiler.disabled = {"row-gradients"};
        expect_same_bits(on_rows, trained(build, training, 7));
        training.compiler.level = 0;
        expect_same_bits(on_rows, trained(build, training, 7));
      }
    }
  }
}

TEST(LazyRows, HaveTheSameBitsInEveryTypeAndWithSymbolicSizes) {
  for (const DType dtype : {f64, bf16, f16}) {
    for (const auto& [name, build] : lazy_optimisers()) {
      SCOPED_TRACE(name);
      Training training{.step = {.lazy_rows = looked_up(), .clip_norm = 0.05}, .dtype = dtype};
      const StateStore::Values known = trained(build, training, 4);
      training.symbolic = true;
      expect_same_bits(known, trained(build, training, 4));
      training.compiler.level = 0;
      expect_same_bits(known, trained(build, training, 4));
    }
  }
}

TEST(LazyRows, OfSixteenBitsAccumulateWithTheSameBits) {
  for (const DType dtype : {bf16, f16}) {
    for (const auto& [optimiser, build] : lazy_optimisers()) {
      for (StepOptions step : step_options()) {
        if (step.accumulate == 1) {
          continue;
        }
        SCOPED_TRACE(fmt::format("{} {}", optimiser, name(dtype)));
        step.lazy_rows = looked_up();
        Training training{.step = step, .dtype = dtype, .model = several_lookups};
        const StateStore::Values on_rows = trained(build, training, 5);
        training.compiler.level = 0;
        expect_same_bits(on_rows, trained(build, training, 5));
      }
    }
  }
}

// Several ranges of rows, of ids and of marks, with many ids twice.
StateStore::Values trained_on_threads(int threads) {
  constexpr std::int64_t kManyRows = 40'000, kIds = 5'000, kOddWidth = 33;
  const int before = cpu::num_threads();
  cpu::set_num_threads(threads);
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {kIds});
  const Var words = parameter("words", full(graph, f32, {kManyRows, kOddWidth}, 0.25));
  const Var loss = mean(square(embedding(words, ids) * cast(expand_dims(ids, 1), f32) - 0.5));
  const Executable run = session.compile(
      {loss},
      {.updates =
           adam(loss, {.step = {.lazy_rows = looked_up(), .clip_norm = 0.05, .accumulate = 2}})});
  for (int n = 0; n < 4; ++n) {
    std::vector<std::int64_t> drawn;
    for (std::int64_t k = 0; k < kIds; ++k) {
      drawn.push_back(k * k % (k % 2 == 0 ? 991 : kManyRows - n));
    }
    run({{"ids", Tensor::of<std::int64_t>({kIds}, drawn)}});
  }
  cpu::set_num_threads(before);
  return session.states().all();
}

TEST(LazyRows, HaveTheSameBitsOnAnyNumberOfThreads) {
  const StateStore::Values alone = trained_on_threads(1);
  for (const int threads : {2, 5}) {
    expect_same_bits(alone, trained_on_threads(threads));
  }
}

// Where no gradient is zero, or nothing moves without one, there is nothing to be lazy about.
TEST(LazyRows, OfPlainDescentAreThoseOfTheWholeRule) {
  const Optimiser build = [](Var loss, const StepOptions& step) {
    return sgd(loss, {.lr = 0.05, .step = step});
  };
  for (const DType dtype : {f32, bf16, f16}) {
    for (const int accumulate : {1, 3}) {
      SCOPED_TRACE(fmt::format("{}, accumulate {}", name(dtype), accumulate));
      StateStore::Values lazy = trained(
          build, {.step = {.lazy_rows = looked_up(), .accumulate = accumulate}, .dtype = dtype}, 7);
      lazy.erase("table.used_rows");
      expect_same_bits(lazy,
                       trained(build, {.step = {.accumulate = accumulate}, .dtype = dtype}, 7));
    }
  }
}

}  // namespace antichain::optim::lazy_rows_test
