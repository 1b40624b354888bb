// Shapes that do not fit, family by family: when the graph is built where that is certain, when it
// runs otherwise.
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/session.h"
#include "tests/ops/expect_bad_input.h"
#include "tests/tensor/expect_error.h"

namespace antichain::bad_shapes_test {

class BadShapes : public testing::Test {
 protected:
  Var make(const char* name, const std::vector<DimSpec>& shape) {
    return graph.input(name, DType::f32, shape);
  }

  Session session;
  Graph graph = session.graph();
  Var a = make("a", {2, 3}), b = make("b", {4, 5}), v = make("v", {3}), s = make("s", {});
  Var n = make("n", {"n", 3}), image = make("image", {2, 4, 7, 7});
  Var ids = graph.input("ids", DType::i64, {5});
};

TEST_F(BadShapes, Elementwise) {
  expect_bad_input<ShapeError>("multiply: shapes [2, 3] and [4, 5] do not broadcast",
                               [&] { a* b; });
  expect_bad_input<ShapeError>("add: shapes [n, 3] and [n + 1, 3] do not broadcast", [&] {
    n + make("more", {graph.dim("n") + 1, 3});
  });
  expect_bad_input<ShapeError>("select: shapes [2, 3] and [4, 5] do not broadcast",
                               [&] { select(less(a, 0), a, b); });
}

TEST_F(BadShapes, Matmul) {
  expect_bad_input<ShapeError>("matmul: inner sizes cannot match: 3 and 4", [&] { matmul(a, b); });
  expect_bad_input<ShapeError>("matmul: input 1 must have rank 2 or more, got shape [3]",
                               [&] { matmul(a, v); });
  expect_bad_input<ShapeError>("matmul: shapes [2] and [3] do not broadcast", [&] {
    matmul(make("p", {2, 1, 1}), make("q", {3, 1, 1}));
  });
}

TEST_F(BadShapes, Scans) {
  expect_bad_input<ShapeError>("affine_scan: shapes of a and b cannot match: 2 and 4", [&] {
    affine_scan(a, make("b43", {4, 3}), v);
  });
  expect_bad_input<ShapeError>(
      "affine_scan: shapes of a step of b and of initial cannot match: 5 and 3",
      [&] { affine_scan(b, b, v); });
  expect_bad_input<ShapeError>("affine_scan: rows and columns of a matrix cannot match: 3 and 5",
                               [&] {
                                 affine_scan(make("m", {2, 3, 5}), a, v);
                               });
  expect_bad_input<ShapeError>("affine_scan: input 0 must have rank 3, got shape [2]",
                               [&] { affine_scan(make("w", {2}), a, v); });
  expect_bad_input<InvalidArgument>(
      "affine_scan: a of shape [2, 3] holds diagonals, which cannot be transposed",
      [&] { affine_scan(a, a, v, {.transposed = true}); });
  expect_bad_input<InvalidArgument>(
      "affine_scan: there is no algorithm 'fast'; there are serial, blelloch, hybrid and chunked",
      [&] { affine_scan(a, a, v, {.algorithm = "fast"}); });
  expect_bad_input<InvalidArgument>(
      "affine_scan: only the algorithms hybrid and chunked have a chunk",
      [&] { affine_scan(a, a, v, {.algorithm = "serial", .chunk = 2}); });
  expect_bad_input<InvalidArgument>("affine_scan: a chunk must have a step or more, got -1", [&] {
    affine_scan(a, a, v, {.algorithm = "chunked", .chunk = -1});
  });
  expect_bad_input<InvalidArgument>(
      "affine_scan: the chunk of algorithm hybrid must be a power of two, got 6",
      [&] { affine_scan(a, a, v, {.algorithm = "hybrid", .chunk = 6}); });
}

TEST_F(BadShapes, Reductions) {
  expect_bad_input<ShapeError>("sum: axis 2 is outside a value of rank 2", [&] { a.sum(2); });
  expect_bad_input<ShapeError>("mean: axis -3 is outside a value of rank 2", [&] { a.mean(-3); });
  expect_bad_input<ShapeError>("reduce_max: axes names an axis twice", [&] { max(a, {1, -1}); });
  expect_bad_input<ShapeError>("argmax: axis 5 is outside a value of rank 2",
                               [&] { argmax(a, 5); });
  expect_bad_input<ShapeError>("reduce_max: there is no element to choose along axis 0 of [0, 3]",
                               [&] {
                                 max(make("empty", {0, 3}), {0});
                               });
  expect_bad_input<ShapeError>("cumsum: axis 2 is outside a value of rank 2",
                               [&] { cumsum(a, 2); });
}

TEST_F(BadShapes, Reshaping) {
  expect_bad_input<ShapeError>("reshape: 6 elements in [2, 3] do not fit [4]",
                               [&] { reshape(a, {4}); });
  expect_bad_input<ShapeError>("reshape: size -2 is negative", [&] { reshape(a, {-2, -3}); });
  expect_error<ShapeError>("reshape: only one size may be -1, got [-1, -1]", [&] {
    reshape(a, {-1, -1});
  });
  expect_error<ShapeError>("dim '6' is divided by zero", [&] { reshape(a, {0, -1}); });
  expect_bad_input<ShapeError>("reshape: 6 elements in [2, 3] do not fit [1, 4]", [&] {
    reshape(a, {-1, 4});
  });
  expect_bad_input<ShapeError>("transpose: [0, 0] is not an order of the 2 axes of [2, 3]", [&] {
    transpose(a, {0, 0});
  });
  expect_bad_input<ShapeError>("broadcast_to: shape [2, 3] does not broadcast to [2, 4]", [&] {
    broadcast_to(a, {2, 4});
  });
  expect_bad_input<ShapeError>("broadcast_to: shape [2, 3] does not broadcast to [3]",
                               [&] { broadcast_to(a, {3}); });
  expect_bad_input<ShapeError>("tile: 1 counts for a value of rank 2", [&] { tile(a, {2}); });
  expect_bad_input<ShapeError>("tile: count -1 is negative", [&] { tile(a, {1, -1}); });
  expect_error<ShapeError>("squeeze: axis 1 of [2, 3] has size 3, not 1", [&] { squeeze(a, 1); });
  expect_bad_input<ShapeError>("flip: axis 3 is outside a value of rank 2", [&] { flip(a, {3}); });
  expect_error<ShapeError>("axis 4 does not exist in a tensor of rank 3",
                           [&] { expand_dims(a, 4); });
}

TEST_F(BadShapes, Sizes) {
  expect_bad_input<ShapeError>("iota: size -1 is negative", [&] { iota(graph, DType::i64, -1); });
  expect_bad_input<ShapeError>("broadcast_to: size -4 is negative",
                               [&] { zeros(graph, DType::f32, {-4}); });
  expect_bad_input<ShapeError>("random_normal: a size must not be negative, got -1",
                               [&] { random_normal(graph, DType::f32, {-1}); });
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  expect_error<ShapeError>("a size overflows: 1099511627776 * 1099511627776", [&] {
    numel({kHuge, kHuge});
  });
  expect_bad_input<ShapeError>("a size overflows: 1099511627776 * 1099511627776", [&] {
    reshape(zeros(graph, DType::f32, {kHuge, kHuge}), {3});
  });
}

TEST_F(BadShapes, Slicing) {
  expect_error<ShapeError>("slice: axis 2 is outside a value of rank 2",
                           [&] { slice(a, {{.axis = 2}}); });
  expect_error<InvalidArgument>("slice: axis 1 is named twice", [&] {
    slice(a, {{.axis = 1}, {.axis = -1}});
  });
  expect_bad_input<InvalidArgument>("slice: the step of axis 0 must be positive, got 0",
                                    [&] { slice(a, {{.axis = 0, .step = 0}}); });
  expect_error<ShapeError>("index: axis 2 is outside a value of rank 2", [&] { index(a, 2, 0); });
  expect_bad_input<ShapeError>("slice: the range from 3 to 4 leaves axis 1 of size 3",
                               [&] { index(a, 1, 3); });
  expect_bad_input<ShapeError>("concat: sizes of other axes cannot match: 3 and 5", [&] {
    concat({a, b}, 0);
  });
  expect_bad_input<ShapeError>("concat: input 1 must have rank 2, got shape [3]", [&] {
    concat({a, v}, 0);
  });
  expect_bad_input<ShapeError>("stack: input 1 must have rank 2, got shape [3]", [&] {
    stack({a, v}, 0);
  });
  expect_error<InvalidArgument>("concat: needs at least one value", [&] { concat({}, 0); });
  expect_error<InvalidArgument>("stack: needs at least one value", [&] { stack({}, 0); });
  expect_bad_input<InvalidArgument>("split: needs at least one size", [&] { split(a, {}, 0); });
  expect_bad_input<ShapeError>("split: the size of a part must not be negative, got -1", [&] {
    split(a, {-1, 3}, 0);
  });
  expect_bad_input<ShapeError>(
      "pad: a value of shape [2, 3] needs 2 sizes before and after, got 1 "
      "and 2",
      [&] {
        pad(a, {1}, {1, 1});
      });
}

TEST_F(BadShapes, Windows) {
  const Var weight = make("weight", {6, 3, 3, 3});
  expect_bad_input<ShapeError>(
      "conv: x has 4 channels, but a weight [6, 3, 3, 3] with groups = 1 takes 3",
      [&] { conv(image, weight); });
  expect_bad_input<ShapeError>("conv: input 0 must have rank 4, got shape [2, 3]",
                               [&] { conv(a, weight); });
  expect_bad_input<ShapeError>("max_pool: padding [2, 2] must be smaller than the window [2, 2]",
                               [&] {
                                 max_pool(image, {.window = {2, 2}, .padding = {2, 2}});
                               });
  expect_bad_input<ShapeError>(
      "max_pool: a window that spans 9 elements does not fit into spatial "
      "axis 0, which has 7 with its padding",
      [&] {
        max_pool(image, {.window = {9, 9}});
      });
  expect_bad_input<ShapeError>("avg_pool: the window must have one number per spatial axis",
                               [&] { avg_pool(image, {.window = {}}); });
}

TEST_F(BadShapes, LookupsAndNorms) {
  expect_bad_input<ShapeError>("gather: axis 2 is outside a value of rank 2",
                               [&] { gather(a, ids, 2); });
  expect_bad_input<ShapeError>("embedding: input 0 must have rank 2, got shape [3]",
                               [&] { embedding(v, ids); });
  expect_bad_input<ShapeError>("one_hot: the number of classes must not be negative, got -3",
                               [&] { one_hot(ids, -3); });
  expect_bad_input<ShapeError>("top_k: k is 4, but axis 1 has only 3 elements",
                               [&] { top_k(a, 4); });
  expect_bad_input<ShapeError>("layer_norm: normalised axes and scale cannot match: 3 and 5",
                               [&] { layer_norm(a, make("scale", {5}), v); });
  expect_bad_input<ShapeError>("layer_norm: cannot normalise 3 axes of a value of shape [2, 3]",
                               [&] { layer_norm(a, a, a, 3); });
}

TEST_F(BadShapes, ControlFlow) {
  expect_error<ShapeError>("chain: s has no axis to walk along",
                           [&] { chain(v, s, [](Var h, Var) { return h; }); });
  expect_error<InvalidArgument>("chain: without sequences the length must be given", [&] {
    chain({v}, {}, [](Var, const Vars& h, const Vars&) -> StepResult { return {h}; });
  });
  expect_error<InvalidArgument>("chain: needs a state or a sequence", [&] {
    chain({}, {}, [](Var, const Vars& h, const Vars&) -> StepResult { return {h}; });
  });
  expect_error<InvalidArgument>("chain: the body returns 0 states, there are 1", [&] {
    chain({v}, {a}, [](Var, const Vars&, const Vars&) -> StepResult { return {}; });
  });
  expect_bad_input<ShapeError>("chain: lengths of the sequences cannot match: 4 and 2", [&] {
    chain({v}, {a, b}, [](Var, const Vars& h, const Vars&) -> StepResult { return {h}; });
  });
  expect_bad_input<ShapeError>(
      "chain: shapes of a state before and after a step have different ranks: [3] and []",
      [&] { chain(v, a, [](Var h, Var) { return sum(h); }); });
  expect_bad_input<ShapeError>(
      "cond: shapes of what the two bodies return cannot match: 3 and 2", [&] {
        cond(
            less(s, 0), [&] { return Vars{v}; }, [&] { return Vars{make("two", {2})}; });
      });
  expect_bad_input<ShapeError>("cond: input 0 must have rank 0, got shape [3]", [&] {
    cond(
        less(v, 0), [&] { return Vars{v}; }, [&] { return Vars{v}; });
  });
  expect_bad_input<InvalidArgument>("cond: the two bodies return 1 and 0 values", [&] {
    cond(
        less(s, 0), [&] { return Vars{v}; }, [&] { return Vars{}; });
  });
}

TEST_F(BadShapes, AtRunTime) {
  const Var m = make("m", {"m", 3});
  const Executable sum = session.compile({n + m});
  const auto rows = [](std::int64_t count) { return Tensor::zeros(DType::f32, {count, 3}); };
  EXPECT_EQ(sum({{"n", rows(4)}, {"m", rows(4)}})[0].shape(), (Shape{4, 3}));
  try {
    sum({{"n", rows(4)}, {"m", rows(5)}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("broadcast sizes do not match: n is 4, m is 5"),
              std::string::npos)
        << error.what();
  }
  const Executable reshaped = session.compile({reshape(n, {2, -1})});
  EXPECT_EQ(reshaped({{"n", rows(4)}})[0].shape(), (Shape{2, 6}));
  EXPECT_THROW(reshaped({{"n", rows(3)}}), ShapeError);
  const Executable unknown = session.compile({zeros(graph, DType::f32, {graph.dim("nowhere")})});
  expect_error<ShapeError>(
      "dim 'nowhere' has no value: no input that is fed has it as a size, and no op that "
      "ran found it out",
      [&] { unknown({}); });
  const Executable negative =
      session.compile({zeros(graph, DType::f32, {graph.dim("n") - 5}) + n.dim(1).constant()});
  EXPECT_THROW(negative({{"n", rows(3)}}), ShapeError);
}

TEST_F(BadShapes, SizesThatOnlyAStepFindsOutCannotBeStacked) {
  const Var found = chain({}, {a}, [](Var, const Vars&, const Vars& x) -> StepResult {
                      return {{}, {nonzero(x[0])}};
                    }).ys[0];
  graph.set_name(found, "found");
  expect_error<ShapeError>(found.producer().describe() +
                               ": the body returns a value whose size only the step finds out, so "
                               "the steps cannot be stacked",
                           [&] {
                             session.compile({found})({{"a", Tensor::zeros(DType::f32, {2, 3})}});
                           });
}

TEST_F(BadShapes, NegativeChainLength) {
  EXPECT_THROW(session.compile({chain({v}, {},
                                      [](Var, const Vars& h, const Vars&) -> StepResult {
                                        return {h, {h[0]}};
                                      },
                                      {.length = -3})
                                    .ys[0]})({{"v", Tensor::zeros(DType::f32, {3})}}),
               ShapeError);
}

}  // namespace antichain::bad_shapes_test
