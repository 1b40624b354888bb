#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/runtime/finite_check.h"
#include "antichain/runtime/profiler.h"
#include "antichain/session/session.h"

namespace antichain::observer_test {

TEST(Profiler, CountsOpsBytesAndOwnTime) {
  Session session;
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {4, 4}), xs = graph.input("xs", f32, {5, 4, 4});
  const Var y = sum(chain(h, xs, [](Var s, Var x) { return tanh(matmul(s, x)); }).last);
  const Executable run = session.compile({y});
  Profiler profiler;
  run.run({{"h", Tensor::full(f32, {4, 4}, 0.1)}, {"xs", Tensor::full(f32, {5, 4, 4}, 0.1)}},
          {&profiler});
  double total = 0;
  for (const ProfileRow& row : profiler.rows()) {
    total += row.seconds;
    EXPECT_GE(row.seconds, 0);
    if (row.op == "matmul") {
      EXPECT_EQ(row.count, 5);
      EXPECT_EQ(row.bytes, 5 * 3 * 4 * 4 * 4);
    }
  }
  EXPECT_GT(total, 0);
  EXPECT_NE(profiler.table().find("matmul"), std::string::npos);
  const std::string trace = profiler.chrome_trace();
  EXPECT_NE(trace.find("\"name\":\"chain\""), std::string::npos);
  EXPECT_NE(trace.find("observer_test.cpp"), std::string::npos);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), '{'),
            std::count(trace.begin(), trace.end(), '}'));
}

TEST(FiniteCheck, SaysWhatTheOpHasOverwritten) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2}), y = exp(x) * 1;
  graph.set_name(y, "y");
  const Executable run = session.compile({sum(log(y - 4))}, {.compiler = {.level = 0}});
  FiniteCheck check;
  try {
    run.run({{"x", Tensor::full(f32, {2}, 0.5)}}, {&check});
    FAIL() << "the logarithm of a negative number is finite";
  } catch (const DataError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("log"), std::string::npos) << text;
    EXPECT_NE(text.find("overwritten"), std::string::npos) << text;
  }
}

TEST(FiniteCheck, NamesTheOpAndItsInputs) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {2, 2});
  const Var y = sum(exp(log(x)));
  const Executable run = session.compile({y}, {.compiler = {.level = 1}});
  FiniteCheck check;
  EXPECT_NO_THROW(run.run({{"x", Tensor::full(f32, {2, 2}, 1)}}, {&check}));
  const Feeds feeds = {{"x", Tensor::of<float>({2, 2}, {1, 2, -3, 4})}};
  try {
    session.compile({y}).run(feeds, {&check});
    ADD_FAILURE() << "the logarithm of a negative number passed";
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find("fused(log, exp, sum) "), 0U) << error.what();
  }
  try {
    run.run(feeds, {&check});
    ADD_FAILURE() << "the logarithm of a negative number passed";
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find("log "), 0U) << message;
    EXPECT_NE(message.find("at element 2 of [2, 2]; its inputs: x f32[2, 2] in [-3, 4]"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("observer_test.cpp"), std::string::npos) << message;
  }
}

}  // namespace antichain::observer_test
