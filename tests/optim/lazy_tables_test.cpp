// Tables that are trained on some of their rows: what is computed of them, and what is refused.
#include <gmock/gmock.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "tests/optim/lazy_training.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::lazy_rows_test {

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
