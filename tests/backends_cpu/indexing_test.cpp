// Ops that look up and add by indices, on random shapes: every kernel gives the reference's bits,
// which adds in the order of the indices, and the reference's errors.
#include "antichain/ops/indexing/indexing.h"

#include <gtest/gtest.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/session/session.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::indexing_test {

constexpr int kRounds = 60;  // per op

class Indexing : public testing::Test {
 protected:
  void check(const OpDef& def, std::vector<Tensor> inputs,
             std::function<Var(std::span<const Var>)> build) {
    const std::string what =
        def.name + " of " + to_string(inputs[0].shape()) + " by " + to_string(inputs[1].shape());
    checked_ += expect_kernels_agree(
        {def, std::move(inputs),
         [build](Graph&, std::span<const Var> in) { return std::vector<Var>{build(in)}; }},
        0, what);
  }
  // A shape whose given axis is not empty.
  Shape shape_with(std::int64_t rank, std::int64_t axis, std::int64_t max_elements) {
    Shape shape;
    do {
      shape = draw_.shape(rank, max_elements);
    } while (shape[static_cast<std::size_t>(axis)] == 0);
    return shape;
  }
  void TearDown() override { EXPECT_GE(checked_, kRounds); }

  Draw draw_{12};
  int checked_ = 0;
};

TEST_F(Indexing, GatherAndScatterAdd) {
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rank = draw_.between(1, 4), axis = draw_.between(0, rank - 1);
    const Shape shape = shape_with(rank, axis, 5000);
    const auto at = static_cast<std::size_t>(axis);
    const Shape picked = draw_.shape(draw_.between(0, 2), 100);
    const Tensor indices = draw_.indices(picked, shape[at]);
    check(gather_def(), {draw_.values(draw_.one_of({f32, bf16, i8, i64, boolean}), shape), indices},
          [axis](auto in) { return gather(in[0], in[1], axis); });
    Shape gathered = shape;
    const auto place = gathered.erase(gathered.begin() + static_cast<std::ptrdiff_t>(at));
    gathered.insert(place, picked.begin(), picked.end());
    const DType dtype = draw_.one_of({f32, f64, bf16, f16, i8, i64});
    check(scatter_add_def(), {draw_.values(dtype, shape), indices, draw_.values(dtype, gathered)},
          [axis](auto in) { return scatter_add(in[0], in[1], in[2], axis); });
  }
}

TEST_F(Indexing, TakeAlongAndScatterAddAlong) {
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rank = draw_.between(1, 4), axis = draw_.between(0, rank - 1);
    const Shape shape = shape_with(rank, axis, 30000);
    Shape picked = shape;
    picked[static_cast<std::size_t>(axis)] = draw_.between(0, 20);
    const Tensor indices = draw_.indices(picked, shape[static_cast<std::size_t>(axis)]);
    const DType dtype = draw_.one_of({f32, f64, bf16, f16, i8, i64});
    const Tensor x = draw_.values(dtype, shape);
    check(take_along_def(), {x, indices},
          [axis](auto in) { return take_along(in[0], in[1], axis); });
    check(scatter_add_along_def(), {x, indices, draw_.values(dtype, picked)},
          [axis](auto in) { return scatter_add_along(in[0], in[1], in[2], axis); });
  }
}

TEST_F(Indexing, EmbeddingAndBags) {
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t rows = draw_.between(1, 50), width = draw_.size();
    const std::int64_t count = draw_.between(0, 2000), bags = draw_.between(1, 30);
    const Tensor table = draw_.values(draw_.one_of({f32, f64, bf16, f16}), {rows, width});
    const Tensor ids = draw_.indices({count}, rows);
    check(embedding_def(), {table, ids}, [](auto in) { return embedding(in[0], in[1]); });
    const BagMode mode = draw_.one_of({BagMode::sum, BagMode::mean});
    check(embedding_bag_def(), {table, ids, draw_.indices({count}, bags)},
          [=](auto in) { return embedding_bag(in[0], in[1], in[2], bags, mode); });
  }
}

TEST_F(Indexing, OneHot) {
  for (int round = 0; round < kRounds; ++round) {
    const Shape shape = draw_.shape(draw_.between(0, 2), 500);
    const std::int64_t classes = draw_.size();
    const DType dtype = draw_.one_of({f32, f64, bf16, f16, i8, i32, boolean});
    // Some of the indices are outside.
    const Tensor indices = draw_.indices(shape, classes + 2);
    check(one_hot_def(), {indices, indices},
          [=](auto in) { return one_hot(in[0], classes, dtype); });
  }
}

std::string error_of(const std::function<Var(Var, Var, Var)>& build, const Tensor& indices) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {3, 2}), updates = graph.input("updates", f32, {4, 2});
  const Var at = graph.input("indices", i64, {4});
  try {
    session.compile({build(x, at, updates)})({{"x", Tensor::zeros(f32, {3, 2})},
                                              {"updates", Tensor::zeros(f32, {4, 2})},
                                              {"indices", indices}});
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(IndexErrors, NameTheFirstBadIndex) {
  const Tensor indices = Tensor::of<std::int64_t>({4}, {0, 7, -1, 2});
  for (const auto& build : std::vector<std::function<Var(Var, Var, Var)>>{
           [](Var x, Var at, Var updates) { return gather(x, at) + 0 * updates; },
           [](Var x, Var at, Var updates) { return scatter_add(x, at, updates); },
           [](Var x, Var at, Var updates) { return embedding(x, at) + 0 * updates; }}) {
    EXPECT_NE(error_of(build, indices).find("index 7 is outside an axis of size 3"),
              std::string::npos)
        << error_of(build, indices);
  }
}

}  // namespace antichain::cpu::indexing_test
