#include "antichain/nn/embedding.h"

#include <gmock/gmock.h>

#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::embedding_test {

// Row i of the table is (i, 10 i).
const Tensor& table() {
  static const Tensor value = Tensor::of<float>({5, 2}, {0, 0, 1, 10, 2, 20, 3, 30, 4, 40});
  return value;
}

class Bags : public testing::Test {
 protected:
  std::vector<float> run(Var value, const Feeds& feeds) {
    const Executable executable = session.compile({value});
    session.states().set("embedding_bag.weight", table());
    return executable(feeds)[0].to_vector<float>();
  }

  Session session;
  Graph graph = session.graph();
};

TEST(Embedding, LooksUp) {
  Session session;
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i32, {"batch", "time"});
  const Var y = embedding(ids, 5, 2);
  EXPECT_EQ(y.shape(), (Dims{graph.dim("batch"), graph.dim("time"), 2}));
  EXPECT_THAT(list_parameters(graph), testing::ElementsAre("embedding.weight [5, 2]"));
  const Executable run = session.compile({y});
  session.states().set("embedding.weight", table());
  const Tensor value = Tensor::of<std::int32_t>({1, 3}, {4, 0, 4});
  EXPECT_THAT(run({{"ids", value}})[0].to_vector<float>(),
              testing::ElementsAre(4, 40, 0, 0, 4, 40));
}

TEST(Embedding, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var ids = graph.input("ids", i64, {"n"});
  expect_error<InvalidArgument>("embedding: there are no ids", [] { embedding(Var(), 2, 2); });
  expect_error<TypeError>("embedding: ids must be i32 or i64, not f32",
                          [&] { embedding(graph.input("x", f32, {2}), 2, 2); });
  expect_error<InvalidArgument>("embedding: vocabulary must be above 0, got 0",
                                [&] { embedding(ids, 0, 2); });
  expect_error<InvalidArgument>("embedding: width must be above 0, got 0",
                                [&] { embedding(ids, 2, 0); });
  expect_error<TypeError>("embedding: computes in floating-point numbers, not in i64",
                          [&] { embedding(ids, 2, 2, {.dtype = i64}); });
}

TEST_F(Bags, ByOffsets) {
  const Var ids = graph.input("ids", i64, {"count"}), offsets = graph.input("offsets", i64, {"n"});
  const Feeds feeds = {{"ids", Tensor::of<std::int64_t>({4}, {1, 3, 4, 4})},
                       {"offsets", Tensor::of<std::int64_t>({4}, {0, 2, 2, 3})}};
  EXPECT_THAT(run(embedding_bag(ids, 5, 2, {.offsets = offsets}), feeds),
              testing::ElementsAre(2, 20, 0, 0, 4, 40, 4, 40));
}

TEST_F(Bags, ByOffsetsOfAnEmptyEnd) {
  const Var ids = graph.input("ids", i32, {"count"}), offsets = graph.input("offsets", i32, {"n"});
  const Var y = embedding_bag(ids, 5, 2, {.mode = BagMode::sum, .offsets = offsets});
  EXPECT_THAT(run(y, {{"ids", Tensor::of<std::int32_t>({2}, {1, 3})},
                      {"offsets", Tensor::of<std::int32_t>({2}, {0, 2})}}),
              testing::ElementsAre(4, 40, 0, 0));
  EXPECT_THAT(run(y, {{"ids", Tensor::of<std::int32_t>({0}, std::vector<std::int32_t>{})},
                      {"offsets", Tensor::of<std::int32_t>({1}, {0})}}),
              testing::ElementsAre(0, 0));
}

TEST_F(Bags, ByLengths) {
  const Var ids = graph.input("ids", i64, {"n", "most"}),
            lengths = graph.input("lengths", i64, {"n"});
  // What lies behind a row's length need not even be an id.
  const Feeds feeds = {{"ids", Tensor::of<std::int64_t>({3, 2}, {1, 3, 4, -7, 99, 99})},
                       {"lengths", Tensor::of<std::int64_t>({3}, {2, 1, 0})}};
  const Var y = embedding_bag(ids, 5, 2, {.lengths = lengths});
  EXPECT_THAT(run(y, feeds), testing::ElementsAre(2, 20, 4, 40, 0, 0));
}

TEST_F(Bags, WithoutLengthsWholeRowsCount) {
  const Var ids = graph.input("ids", i64, {"n", 2});
  EXPECT_THAT(run(embedding_bag(ids, 5, 2, {.mode = BagMode::sum}),
                  {{"ids", Tensor::of<std::int64_t>({2, 2}, {1, 3, 4, 4})}}),
              testing::ElementsAre(4, 40, 8, 80));
}

TEST_F(Bags, RefuseWhatDoesNotFit) {
  const Var flat = graph.input("flat", i64, {"count"}), rows = graph.input("rows", i64, {"n", 2});
  expect_error<InvalidArgument>("embedding_bag: ids of one axis need the offsets of the bags",
                                [&] { embedding_bag(flat, 5, 2); });
  expect_error<InvalidArgument>("embedding_bag: ids of two axes take lengths, not offsets",
                                [&] { embedding_bag(rows, 5, 2, {.offsets = flat}); });
  expect_error<InvalidArgument>("embedding_bag: ids of one axis take offsets, not lengths", [&] {
    embedding_bag(flat, 5, 2, {.offsets = flat, .lengths = flat});
  });
  expect_error<ShapeError>(
      "embedding_bag: ids must be [count] with offsets or [bags, most] with lengths, their shape "
      "is [2, 2, 2]",
      [&] {
        embedding_bag(graph.input("cube", i64, {2, 2, 2}), 5, 2);
      });
  expect_error<ShapeError>("embedding_bag: lengths must have one axis, their shape is [n, 2]",
                           [&] { embedding_bag(rows, 5, 2, {.lengths = rows}); });
  expect_error<TypeError>("embedding_bag: offsets must be i32 or i64, not f32", [&] {
    embedding_bag(flat, 5, 2, {.offsets = graph.input("x", f32, {"n"})});
  });
}

}  // namespace antichain::nn::embedding_test
