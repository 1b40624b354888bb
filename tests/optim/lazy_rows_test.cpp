// Rows that stay as they are while their gradient is zero: what that means, and that it means the
// same where only the rows that were looked up are computed.
#include <gmock/gmock.h>

#include <cstring>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::lazy_rows_test {

constexpr std::int64_t kRows = 101, kWidth = 19, kBatch = 7, kTimes = 3;

using Optimiser = std::function<std::vector<Var>(Var loss, const StepOptions& step)>;

struct NamedOptimiser {
  const char* name;
  Optimiser build;
};

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

using Model = std::function<Var(Var table, Var ids)>;

Var one_lookup(Var table, Var ids) { return mean(square(embedding(table, ids) - 0.5)); }

// Three lookups, two of them of the same ids, and one by bags.
Var several_lookups(Var table, Var ids) {
  const Var bags = modulo(iota(ids.graph(), i64, kBatch), 3);
  const Var first = antichain::index(ids, 1, 0);
  return one_lookup(table, ids) + mean(exp(0.1 * gather(table, ids))) +
         mean(square(embedding_bag(table, first, bags, 3, BagMode::mean))) +
         sum(gather(table, modulo(first + 5, kRows)));
}

// Ids of which some come twice, and few in all.
Tensor ids_of_run(int run) {
  std::vector<std::int64_t> ids;
  for (std::int64_t k = 0; k < kBatch * kTimes; ++k) {
    ids.push_back((k * k * 3 + 17 * run) % (k % 2 == 0 ? 13 : kRows));
  }
  return Tensor::of<std::int64_t>({kBatch, kTimes}, ids);
}

struct Training {
  StepOptions step = {};
  CompilerOptions compiler = {};
  DType dtype = f32;
  Model model = one_lookup;
  bool symbolic = false;  // the batch
};

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

std::vector<StepOptions> step_options() {
  return {{},
          {.clip_norm = 0.05},
          {.clip_value = 1e-3},
          {.accumulate = 3},
          {.clip_norm = 0.05, .accumulate = 2},
          {.loss_scaling = {.scale = 1024, .grow_after = 2}},
          {.accumulate = 2, .loss_scaling = {.scale = 1024, .grow_after = 2}}};
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

// Returns the ops that make values as long as the table and are not about states.
std::vector<std::string> long_values(Graph& compiled) {
  std::vector<std::string> found;
  for (std::uint32_t id = 0; id < compiled.num_ops(); ++id) {
    const Op op = compiled.op(OpId{id});
    for (const Var output : op.outputs()) {
      if (std::ranges::count(output.shape(), Dim(kRows)) > 0 && !op.def().forwards) {
        found.push_back(op.def().name);
      }
    }
  }
  return found;
}

void expect_long_values(const Optimiser& build, const StepOptions& step, DType dtype, bool on_rows,
                        const Model& model = several_lookups) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {"batch", kTimes});
  const Var loss = model(table(graph, dtype), ids);
  CompilerOptions options;
  if (!on_rows) {
    options.disabled = {"row-gradients"};
  }
  const Executable run =
      session.compile({loss}, {.updates = build(loss, step), .compiler = options});
  EXPECT_EQ(long_values(run.graph()).empty(), on_rows)
      << testing::PrintToString(long_values(run.graph()));
}

TEST(LazyRows, LeaveNoValueAsLongAsTheTable) {
  for (const DType dtype : {f32, bf16, f16}) {
    for (const auto& [optimiser, build] : lazy_optimisers()) {
      for (StepOptions step : step_options()) {
        SCOPED_TRACE(fmt::format("{} {}", optimiser, name(dtype)));
        step.lazy_rows = looked_up();
        for (const bool on_rows : {true, false}) {
          expect_long_values(build, step, dtype, on_rows);
        }
      }
    }
  }
}

TEST(LazyRows, WhoHoldsATableKeepsIt) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {kBatch, kTimes});
  const Var loss = one_lookup(table(graph, f32), ids);
  const Executable run =
      session.compile({loss}, {.updates = adam(loss, {.step = {.lazy_rows = looked_up()}})});
  const void* const at = session.states().get("table").raw();
  run({{"ids", ids_of_run(0)}});
  EXPECT_EQ(session.states().get("table").raw(), at);
  const Tensor held = session.states().get("table"), copy = host_memory().clone(held);
  run({{"ids", ids_of_run(1)}});
  EXPECT_TRUE(same_bits(held, copy));
  EXPECT_FALSE(same_bits(held, session.states().get("table")));
}

// A table that the output reads, too, has a dense gradient: it is still lazy, row by row.
TEST(LazyRows, OfADenseGradientStayWhereItIsZero) {
  Session session;
  Graph graph = session.graph();
  const Var x = parameter("x", ones(graph, f32, {5, 2}));
  const Var weight = graph.input("weight", f32, {5, 2});
  const Var loss = sum(x * weight);
  const Executable run = session.compile(
      {loss}, {.updates = adam(loss, {.weight_decay = 0.1, .step = {.lazy_rows = named("x")}})});
  run({{"weight", Tensor::of<float>({5, 2}, {1, 1, 0, 0, 0, 2, -0.0F, 0, 1, 0})}});
  const std::vector<float> values = session.states().get("x").to_vector<float>();
  const auto is_one = [&](std::size_t row) {
    return values[2 * row] == 1 && values[2 * row + 1] == 1;
  };
  EXPECT_EQ((std::vector<bool>{is_one(0), is_one(1), is_one(2), is_one(3), is_one(4)}),
            (std::vector<bool>{false, true, false, true, false}));
}

TEST(LazyRows, TablesThatAreLookedUpAlone) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {kBatch});
  const Var looked = parameter("looked", zeros(graph, f32, {9, 2}));
  const Var tied = parameter("tied", zeros(graph, f32, {9, 2}));
  const Var columns = parameter("columns", zeros(graph, f32, {9, 9}));
  const Var unused = parameter("unused", zeros(graph, f32, {9, 2}));
  sum(embedding(looked, ids)) + sum(embedding(tied, ids) * 2) + sum(tied) +
      sum(gather(columns, ids, 1));
  const ParameterFilter filter = looked_up();
  EXPECT_TRUE(filter(looked));
  EXPECT_FALSE(filter(tied));
  EXPECT_FALSE(filter(columns));
  EXPECT_FALSE(filter(unused));
}

Var looked_up_in_a_chain(Var words, Var ids) {
  const Var start = zeros(words.graph(), words.dtype(), {kTimes, kWidth});
  return mean(square(chain(start, ids, [&](Var h, Var id) {
                       return tanh(h + embedding(words, id) - 0.5 * gather(words, id) * h);
                     }).last));
}

Var looked_up_before_a_chain(Var words, Var ids) {
  const Var start = zeros(words.graph(), words.dtype(), {kTimes, kWidth});
  const Vars xs = {embedding(words, ids), gather(words, ids)};
  return mean(square(chain({start}, xs, [&](Var, const Vars& h, const Vars& x) -> StepResult {
                       return {{tanh(h[0] + x[0] - 0.5 * x[1] * h[0])}};
                     }).last[0]));
}

// What a chain looks up by a sequence is looked up before it.
TEST(LazyRows, OfATableThatAChainLooksUpAreThoseOfLookupsBeforeIt) {
  const Optimiser build = [](Var loss, const StepOptions& step) {
    return adam(loss, {.lr = 0.05, .weight_decay = 0.1, .step = step});
  };
  for (const StepOptions& options : step_options()) {
    StepOptions step = options;
    step.lazy_rows = looked_up();
    Training training{.step = step, .model = looked_up_in_a_chain};
    const StateStore::Values inside = trained(build, training, 5);
    training.model = looked_up_before_a_chain;
    expect_same_bits(inside, trained(build, training, 5));
    expect_long_values(build, step, f32, true, looked_up_in_a_chain);
  }
}

TEST(LazyRows, WrongIdsAreNamed) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {2});
  const Var loss = one_lookup(table(graph, f32), ids);
  const Executable run =
      session.compile({loss}, {.updates = sgd(loss, {.step = {.lazy_rows = looked_up()}})});
  try {
    run({{"ids", Tensor::of<std::int64_t>({2}, {3, kRows})}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("index 101 is outside an axis of size 101"));
  }
}

TEST(LazyRows, RulesThatNeedAllRowsSaySo) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {2});
  const Var loss = one_lookup(table(graph, f32), ids);
  expect_error<NotSupported>(
      "lars: parameter 'table' cannot have lazy rows, its rate follows from the norm of all of "
      "them",
      [&] { lars(loss, {.step = {.lazy_rows = looked_up()}}); });
  expect_error<NotSupported>(
      "lamb: parameter 'table' cannot have lazy rows, its rate follows from the norm of all of "
      "them",
      [&] { lamb(loss, {.step = {.lazy_rows = looked_up(), .name = "second"}}); });
  const Var number = parameter("number", scalar(graph, f32, 1));
  expect_error<ShapeError>("sgd: parameter 'number' is one number and has no lazy rows", [&] {
    sgd(square(number), {.step = {.lazy_rows = named("number"), .name = "third"}});
  });
}

}  // namespace antichain::optim::lazy_rows_test
