// How executables use memory: views, memory that outputs take over, frames per size, states.
#include <gtest/gtest.h>

#include "antichain/antichain.h"

namespace antichain::frame_test {

constexpr std::int64_t kSize = 1024;
constexpr std::size_t kBytes = kSize * sizeof(float);

class FrameTest : public ::testing::Test {
 protected:
  Session session;
  Graph graph = session.graph();

  std::size_t memory_after(const Executable& run, const Feeds& feeds) {
    run(feeds);
    return run.memory_bytes();
  }
};

TEST_F(FrameTest, ValuesInBetweenShareMemory) {
  const Var x = graph.input("x", f32, {32, kSize / 32});
  Var y = x;
  for (int i = 0; i < 10; ++i) {
    y = matmul(y, x);  // cannot work in place
  }
  const Executable run = session.compile({y});
  EXPECT_EQ(memory_after(run, {{"x", Tensor::zeros(f32, {32, kSize / 32})}}), 2 * kBytes);
}

TEST_F(FrameTest, ElementwiseOpsWorkInPlace) {
  const Var x = graph.input("x", f32, {kSize});
  Var y = x;
  for (int i = 0; i < 10; ++i) {
    y = tanh(y) * x;
  }
  const Executable run = session.compile({sum(y)}, {.compiler = {.level = 1}});
  EXPECT_EQ(memory_after(run, {{"x", Tensor::full(f32, {kSize}, 1)}}), kBytes);
}

TEST_F(FrameTest, AValueThatIsStillReadIsNotOverwritten) {
  const Var x = graph.input("x", f32, {3, 3});
  const Var y = x * 2;
  const Var doubled = y + 1, mixed = y * transpose(y);
  const Executable run = session.compile({sum(doubled), mixed, sum(y, {1})});
  const Tensor fed = Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (int i = 0; i < 2; ++i) {
    const Results results = run({{"x", fed}});
    EXPECT_EQ(results.item(), 99);
    EXPECT_EQ(results[1].to_vector<float>(),
              (std::vector<float>{4, 32, 84, 32, 100, 192, 84, 192, 324}));
    EXPECT_EQ(results[2].to_vector<float>(), (std::vector<float>{12, 30, 48}));
  }
}

TEST_F(FrameTest, ViewsTakeNoMemory) {
  const Var x = graph.input("x", f32, {kSize});
  const Var y = reshape(slice(reshape(cumsum(x, 0), {kSize / 8, 8}), {{0, kSize / 16}}), {-1});
  const Executable run = session.compile({sum(stop_gradient(y))});
  EXPECT_EQ(memory_after(run, {{"x", Tensor::full(f32, {kSize}, 1)}}), kBytes);
}

TEST_F(FrameTest, ViewsOfInputsStatesAndResultsFollowTheirMemory) {
  const Var x = graph.input("x", f32, {2, 3});
  const Var w = parameter("w", ones(graph, f32, {3, 2}));
  const Var y = x + 1;
  const Executable run =
      session.compile({y, reshape(y, {3, 2}) * 2, transpose(x) + w, reshape(w, {6}), transpose(y)},
                      {.updates = {add_update(graph, "w", ones_like(w))}});
  for (float step : {1.0F, 2.0F, 3.0F}) {
    const Results results = run({{"x", Tensor::full(f32, {2, 3}, step)}});
    EXPECT_EQ(results[0].to_vector<float>(), std::vector<float>(6, step + 1));
    EXPECT_EQ(results[1].to_vector<float>(), std::vector<float>(6, 2 * step + 2));
    EXPECT_EQ(results[2].to_vector<float>(), std::vector<float>(6, 2 * step));
    EXPECT_EQ(results[3].to_vector<float>(), std::vector<float>(6, step));
    EXPECT_EQ(results[4].to_vector<float>(), std::vector<float>(6, step + 1));
  }
}

TEST_F(FrameTest, ResultsMayBeUsedAgain) {
  const Var x = graph.input("x", f32, {"n"});
  const Executable run = session.compile({x * 2, sum(x)});
  Results results;
  run.run_into(results, {{"x", Tensor::full(f32, {4}, 1)}});
  const void* memory = results[0].raw();
  run.run_into(results, {{"x", Tensor::full(f32, {4}, 2)}});
  EXPECT_EQ(results[0].raw(), memory);
  EXPECT_EQ(results[0].to_vector<float>(), std::vector<float>(4, 4));
  const Tensor kept = results[0];
  run.run_into(results, {{"x", Tensor::full(f32, {4}, 3)}});
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(4, 4)) << "somebody else held it";
  EXPECT_EQ(results[0].to_vector<float>(), std::vector<float>(4, 6));
  run.run_into(results, {{"x", Tensor::full(f32, {2}, 3)}});
  EXPECT_EQ(results[0].to_vector<float>(), std::vector<float>(2, 6));
}

TEST_F(FrameTest, ManySizesAreRunAndFewAreKept) {
  const Var x = graph.input("x", f32, {"n"});
  const Executable run = session.compile({sum(cumsum(x, 0))});
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 0; n < 100; ++n) {
      const float expected = static_cast<float>(n * (n + 1) / 2);
      EXPECT_EQ(run({{"x", Tensor::full(f32, {n}, 1)}}).item(), expected);
    }
  }
  EXPECT_LE(run.memory_bytes(), 1024U) << "the frames of all sizes share one piece of memory";
}

TEST_F(FrameTest, StatesAreUpdatedInPlaceUnlessSomebodyReadsThem) {
  const Var w = parameter("w", ones(graph, f32, {kSize}));
  const Executable run =
      session.compile({sum(w)}, {.updates = {add_update(graph, "w", ones_like(w))}});
  run({});
  const void* memory = session.states().get("w").raw();
  EXPECT_EQ(run({}).item(), 2 * kSize);
  EXPECT_EQ(session.states().get("w").raw(), memory);
  const Tensor before = session.states().get("w");
  run({});
  EXPECT_EQ(before.data<float>()[0], 3) << "the value that was taken out does not change";
  EXPECT_EQ(session.states().get("w").data<float>()[0], 4);
}

TEST_F(FrameTest, ReadersOfAnOldStateAreNotDisturbed) {
  const Var w = parameter("w", ones(graph, f32, {4}));
  add_update(graph, "w", ones_like(w));
  const Var second = add_update(graph, "w", ones_like(w));
  // Reads the first value after both writes.
  const Var late = reshape(w, {2, 2}) + sum(second);
  const Executable run = session.compile({late, second}, {.updates = {second}});
  for (float start : {1.0F, 3.0F, 5.0F}) {
    const Results results = run({});
    EXPECT_EQ(results[0].to_vector<float>(), std::vector<float>(4, start + 4 * (start + 2)));
    EXPECT_EQ(results[1].to_vector<float>(), std::vector<float>(4, start + 2));
  }
}

TEST_F(FrameTest, RegionsReturnTheirArgumentsAndConstants) {
  const Var x = graph.input("x", f32, {2});
  const Var yes = graph.input("yes", boolean, {});
  const Var c = constant(graph, Tensor::of<float>({2}, {7, 8}));
  const std::vector<Var> chosen = cond(
      yes,
      [&] {
        return std::vector<Var>{x, c, x + 1};
      },
      [&] {
        return std::vector<Var>{c, x * 2, x};
      });
  const Executable run = session.compile(chosen);
  const Tensor fed = Tensor::of<float>({2}, {1, 2});
  const Results a = run({{"x", fed}, {"yes", Tensor::scalar(true)}});
  const Results b = run({{"x", fed}, {"yes", Tensor::scalar(false)}});
  EXPECT_EQ(a[0].to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(a[1].to_vector<float>(), (std::vector<float>{7, 8}));
  EXPECT_EQ(a[2].to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(b[0].to_vector<float>(), (std::vector<float>{7, 8}));
  EXPECT_EQ(b[1].to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(b[2].to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST_F(FrameTest, SizesThatTheRunFindsOut) {
  const Var x = graph.input("x", f32, {"n"});
  const Var found = gather(x, reshape(nonzero(x), {-1}));
  const Executable run = session.compile({sum(square(found)), found * 2, reshape(x, {-1, 1})});
  for (int round = 0; round < 2; ++round) {
    const Results a = run({{"x", Tensor::of<float>({4}, {1, 0, 2, 3})}});
    EXPECT_EQ(a.item(), 14);
    EXPECT_EQ(a[1].to_vector<float>(), (std::vector<float>{2, 4, 6}));
    const Results b = run({{"x", Tensor::of<float>({4}, {0, 0, 2, 0})}});
    EXPECT_EQ(b.item(), 4);
    EXPECT_EQ(b[1].to_vector<float>(), (std::vector<float>{4}));
  }
}

TEST_F(FrameTest, AfterAnErrorTheNextRunIsRight) {
  const Var x = graph.input("x", f32, {2});
  const Var w = parameter("w", ones(graph, f32, {2}));
  const Var y = assert_finite(log(x) + w, "") * 2;
  const Executable run = session.compile({y});
  EXPECT_THROW(run({{"x", Tensor::zeros(f32, {2})}}), DataError);
  EXPECT_EQ(run({{"x", Tensor::full(f32, {2}, 1)}})[0].to_vector<float>(),
            (std::vector<float>{2, 2}));
}

TEST_F(FrameTest, OutOfMemoryIsOneSentence) {
  const Var x = graph.input("x", f32, {"n"});
  const Var huge = broadcast_to(x, {graph.dim("n") * 1000000000, graph.dim("n")});
  const Executable run = session.compile({cumsum(huge, 0)});
  try {
    run({{"x", Tensor::zeros(f32, {1000})}});
    ADD_FAILURE() << "4 petabytes were found";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("out of memory on cpu: cannot allocate"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(run({{"x", Tensor::zeros(f32, {1000})}}), DeviceError);
  EXPECT_EQ(run({{"x", Tensor::zeros(f32, {0})}})[0].numel(), 0);
}

}  // namespace antichain::frame_test
