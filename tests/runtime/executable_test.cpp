// What users of an executable meet: feeding, sizes, results, kernel choice.
#include "antichain/runtime/executable.h"

#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::executable_test {

class ExecutableTest : public testing::Test {
 protected:
  Session session;
  Graph graph = session.graph();
};

TEST_F(ExecutableTest, RunsAnyBatchSizeWithoutRebuilding) {
  const Var x = graph.input("x", f64, {"batch", 3});
  const Var y = sum(square(x), {1});
  const Executable run = session.compile({y, grad(y, x)});
  const std::size_t ops = graph.num_ops();
  for (std::int64_t batch : {1, 7, 0, 128}) {
    const Results results = run({{"x", Tensor::full(f64, {batch, 3}, 2)}});
    EXPECT_TRUE(bit_equal(results[0], Tensor::full(f64, {batch}, 12)));
    EXPECT_TRUE(bit_equal(results[1], Tensor::full(f64, {batch, 3}, 4)));
  }
  EXPECT_EQ(graph.num_ops(), ops);
}

TEST_F(ExecutableTest, BadFeedsAreOneSentence) {
  const Var x = graph.input("x", f32, {"n", 3});
  const Var y = graph.input("y", f32, {"n"});
  const Executable run = session.compile({sum(x, {1}) + y});
  const Tensor good_x = Tensor::zeros(f32, {2, 3}), good_y = Tensor::zeros(f32, {2});
  expect_error<InvalidArgument>("input 'y' is not fed", [&] { run({{"x", good_x}}); });
  expect_error<InvalidArgument>("there is no input called 'z'; this executable takes: x, y", [&] {
    run({{"x", good_x}, {"y", good_y}, {"z", good_y}});
  });
  expect_error<InvalidArgument>("input 'y' is fed with nothing", [&] {
    run({{"x", good_x}, {"y", Tensor()}});
  });
  expect_error<TypeError>("input 'y' must be f32, got f64", [&] {
    run({{"x", good_x}, {"y", Tensor::zeros(f64, {2})}});
  });
  expect_error<ShapeError>("input 'x' must have shape [n, 3], got [2]", [&] {
    run({{"x", good_y}, {"y", good_y}});
  });
  expect_error<ShapeError>("input 'x': axis 1 must be 3, got 4", [&] {
    run({{"x", Tensor::zeros(f32, {2, 4})}, {"y", good_y}});
  });
  expect_error<ShapeError>("input 'y': axis 0 must be n = 2, got 5", [&] {
    run({{"x", good_x}, {"y", Tensor::zeros(f32, {5})}});
  });
}

TEST_F(ExecutableTest, SymbolsKeepTheirRange) {
  const Var x = graph.input("x", f32, {graph.dim("n", {2, 4})});
  const Executable run = session.compile({x + 1});
  EXPECT_NO_THROW(run({{"x", Tensor::zeros(f32, {4})}}));
  expect_error<ShapeError>("input 'x': 'n' is 5, outside its range [2, 4]", [&] {
    run({{"x", Tensor::zeros(f32, {5})}});
  });
}

TEST_F(ExecutableTest, SizesThatOnlyTheRunCanCompareAreCompared) {
  const Var a = graph.input("a", f32, {"n"});
  const Var b = graph.input("b", f32, {"m"});
  const Executable run = session.compile({a + b});
  EXPECT_NO_THROW(run({{"a", Tensor::zeros(f32, {3})}, {"b", Tensor::zeros(f32, {3})}}));
  try {
    run({{"a", Tensor::zeros(f32, {3})}, {"b", Tensor::zeros(f32, {4})}});
    ADD_FAILURE() << "sizes 3 and 4 were added";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("n is 3, m is 4"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("executable_test.cpp"), std::string::npos)
        << error.what();
  }
}

TEST_F(ExecutableTest, SizesThatAreExpressionsAreSolved) {
  const Dim n = graph.dim("n"), k = graph.dim("k");
  const Var pairs = graph.input("pairs", f32, {2 * n + 1, k});
  const Executable run = session.compile({dim_value(graph, n), dim_value(graph, k), pairs});
  const Results results = run({{"pairs", Tensor::zeros(f32, {7, 4})}});
  EXPECT_EQ(results[0].item<int>(), 3);
  EXPECT_EQ(results[1].item<int>(), 4);
  expect_error<ShapeError>("input 'pairs': axis 0 must be 2*n + 1, got 6", [&] {
    run({{"pairs", Tensor::zeros(f32, {6, 4})}});
  });
}

TEST_F(ExecutableTest, UnusedInputsNeedNotBeFed) {
  graph.input("unused", f32, {3});
  const Var x = graph.input("x", f32, {});
  const Executable run = session.compile({x * 2});
  EXPECT_EQ(run({{"x", Tensor::scalar(3.0F)}}).item(), 6);
  EXPECT_EQ(run({{"x", Tensor::scalar(3.0F)}, {"unused", Tensor::zeros(f32, {3})}}).item(), 6);
}

TEST_F(ExecutableTest, StridedFeedsAreRead) {
  const Var x = graph.input("x", f32, {2, 3});
  const Executable run = session.compile({x * 1.0});
  const Tensor columns =
      Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}).transpose(std::vector<int>{1, 0});
  EXPECT_EQ(run({{"x", columns}})[0].to_vector<float>(), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST_F(ExecutableTest, ResultsOutliveLaterUpdates) {
  const Var w = parameter("w", full(graph, f32, {2}, 1));
  const Executable run = session.compile({w}, {.updates = {add_update(graph, "w", ones_like(w))}});
  const Tensor first = run({})[0];
  const Tensor second = run({})[0];
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(second.to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST_F(ExecutableTest, ResultsShareNoMemoryWithAnything) {
  const Var x = graph.input("x", f32, {2});
  const Var w = parameter("w", full(graph, f32, {2}, 1));
  const Var c = constant(graph, Tensor::full(f32, {2}, 5));
  const Executable run = session.compile({x, w, c, x});
  const Tensor fed = Tensor::full(f32, {2}, 3);
  const Results results = run({{"x", fed}});
  for (const Tensor& result : results.tensors()) {
    result.data<float>()[0] = 99;
  }
  EXPECT_EQ(fed.to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(session.states().get("w").to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(run({{"x", fed}})[2].to_vector<float>(), (std::vector<float>{5, 5}));
}

TEST_F(ExecutableTest, PrintGoesWhereItIsTold) {
  const Var x = graph.input("x", f32, {2});
  Executable run = session.compile({print(x, "here")});
  std::vector<std::string> lines;
  run.set_print_line([&lines](std::string_view line) { lines.emplace_back(line); });
  run({{"x", Tensor::of<float>({2}, {1, 2})}});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("here"), std::string::npos) << lines[0];
}

TEST_F(ExecutableTest, ErrorsInKernelsReachTheCallerWithThePlace) {
  const Var x = graph.input("x", f32, {2});
  const Executable run = session.compile({assert_finite(log(x), "after log")});
  EXPECT_NO_THROW(run({{"x", Tensor::full(f32, {2}, 1)}}));
  try {
    run({{"x", Tensor::zeros(f32, {2})}});
    ADD_FAILURE() << "log(0) passed as finite";
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("after log"), std::string::npos) << message;
    EXPECT_NE(message.find("executable_test.cpp"), std::string::npos) << message;
  }
}

TEST(KernelChoice, RefusalsAndFallbacksAreLogged) {
  std::vector<std::string> lines;
  Session session({.logger = Logger(LogLevel::info, [&lines](LogLevel, std::string_view line) {
                     lines.emplace_back(line);
                   })});
  Graph graph = session.graph();
  const Var x = graph.input("x", i32, {2, 2});
  session.compile({matmul(x, x)});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("kernel 'onednn matmul' refused"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("kernel 'blas gemm' refused"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2].find("falls back to the reference kernel"), std::string::npos) << lines[2];
}

}  // namespace antichain::executable_test
