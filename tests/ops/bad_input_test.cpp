// Mistakes that are not about shapes: types, numbers, names, indices, states, loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/attention.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/ops/expect_bad_input.h"
#include "tests/tensor/expect_error.h"

namespace antichain::bad_input_test {

class BadInput : public testing::Test {
 protected:
  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", DType::f32, {3}), wide = graph.input("wide", DType::f64, {3});
  Var i = graph.input("i", DType::i64, {3}), small = graph.input("small", DType::i32, {3});
  Var flag = graph.input("flag", DType::boolean, {3});
};

TEST_F(BadInput, Types) {
  expect_bad_input<TypeError>(
      "add: inputs 0 and 1 have different types, f32 and f64; cast one of "
      "them",
      [&] { x + wide; });
  expect_bad_input<TypeError>("exp: input 0 is i64; accepted: f32, f64, bf16, f16",
                              [&] { exp(i); });
  expect_bad_input<TypeError>("divide: input 0 is i64; accepted: f32, f64, bf16, f16",
                              [&] { i / i; });
  expect_bad_input<TypeError>("select: input 0 is f32; accepted: bool", [&] { select(x, x, x); });
  expect_bad_input<TypeError>("gather: input 1 is f32; accepted: i32, i64", [&] { gather(x, x); });
  const Var half = graph.input("half", DType::bf16, {2, 3});
  expect_bad_input<TypeError>(
      "batch_norm: numbers per channel of type f64 do not go with x of type bf16; accepted: bf16, "
      "f32",
      [&] { batch_norm(half, wide, wide); });
  expect_bad_input<TypeError>(
      "batch_norm_gradient: grad and x have different types, f32 and bf16",
      [&] { batch_norm_gradient(cast(half, DType::f32), half, x, x, x, 1e-5); });
  expect_bad_input<TypeError>("iota: bool is not a number type",
                              [&] { iota(graph, DType::boolean, 3); });
  expect_bad_input<TypeError>("random_uniform: draws floats, not i64",
                              [&] { random_uniform(graph, DType::i64, {3}); });
  expect_bad_input<TypeError>("reshape_dynamic: input 1 is f32; accepted: i32, i64",
                              [&] { reshape(x, x); });
  expect_bad_input<TypeError>("mean: input 0 is i64; accepted: f32, f64, bf16, f16",
                              [&] { mean(i); });
}

TEST_F(BadInput, Attention) {
  const Var q = graph.input("q", DType::bf16, {2, 3, 4, 5});
  const Var other = graph.input("other", DType::f32, {2, 3, 4, 5});
  const Var heads = graph.input("heads", DType::bf16, {2, 3, 1, 5});
  const Var mask = graph.input("mask", DType::boolean, {2, 4});
  expect_bad_input<TypeError>("attention: q, k and v must have one type, there are bf16 and f32",
                              [&] { attention(q, other, q); });
  expect_bad_input<ShapeError>("attention: heads of q and k cannot match: 4 and 1",
                               [&] { attention(q, heads, heads); });
  expect_bad_input<ShapeError>("attention: [batch, keys] and the mask cannot match: 3 and 4",
                               [&] { attention(q, q, q, {.mask = mask}); });
  expect_bad_input<TypeError>("attention: input 3 is bf16; accepted: bool",
                              [&] { attention(q, q, q, {.mask = q}); });
  expect_bad_input<InvalidArgument>("attention: scale must be finite, got inf", [&] {
    attention(q, q, q, {.scale = std::numeric_limits<double>::infinity()});
  });
  expect_bad_input<InvalidArgument>("attention: takes 3 inputs or, with a mask, 4, got 2", [&] {
    apply_all(attention_def(), {q, q});
  });
  const Attended attended = attention(q, q, q);
  expect_bad_input<TypeError>("attention_gradient: grad and output must be bf16 as q is",
                              [&] { attention_gradient(other, q, q, q, attended); });
  expect_bad_input<TypeError>("attention_gradient: lse must be f32 where q is bf16", [&] {
    attention_gradient(q, q, q, q, {attended.output, cast(attended.lse, DType::f64)});
  });
}

TEST_F(BadInput, PlainNumbers) {
  expect_error<InvalidArgument>("add: at least one operand must be a value of a graph",
                                [] { add(1, 2); });
  expect_error<InvalidArgument>("a value of a graph is needed here, not a plain number",
                                [] { reshape(3, {1}); });
  expect_error<TypeError>("the number 1.5 does not fit a value of type i64; cast the value",
                          [&] { i * 1.5; });
  expect_error<TypeError>("the number 5000000000 does not fit a value of type i32; cast the value",
                          [&] { small + 5'000'000'000; });
  expect_error<TypeError>("the number 2 does not fit a value of type bool; cast the value",
                          [&] { equal(flag, 2); });
  expect_bad_input<InvalidArgument>("clip: low 2 is above high 1", [&] { clip(x, 2, 1); });
  expect_bad_input<InvalidArgument>(
      "random_bernoulli: the probability must be within [0, 1], got 1.5",
      [&] { random_bernoulli(graph, 1.5, {3}); });
}

TEST_F(BadInput, IntegersWrapAround) {
  // While the graph is built, small integers are also tracked as sizes, which do not wrap.
  const std::int64_t large = std::numeric_limits<std::int64_t>::max();
  const Var most = constant(graph, Tensor::scalar(large));
  const Var byte = constant(graph, Tensor::of<std::int8_t>({1}, {100}));
  const Results found = session.compile({most + 1, most * most, most - -1, byte + byte})({});
  EXPECT_EQ(found[0].item<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(found[1].item<std::int64_t>(), 1);
  EXPECT_EQ(found[2].item<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(found[3].item<std::int64_t>(), -56);
  EXPECT_FALSE((byte + byte).type().value.has_value());
}

TEST_F(BadInput, UnknownNames) {
  expect_error<InvalidArgument>("there is no operator 'matmull'; did you mean 'matmul'?",
                                [] { find_op("matmull"); });
  expect_error<InvalidArgument>("matmul: there is no attribute 'transpose'", [&] {
    graph.add(matmul_def(), {x, x}, {{"transpose", true}});
  });
  expect_error<InvalidArgument>("matmul: attribute 'transpose_a' has the wrong type", [&] {
    graph.add(matmul_def(), {x, x}, {{"transpose_a", std::int64_t{1}}});
  });
  expect_error<InvalidArgument>("reshape: attribute 'shape' is missing",
                                [&] { graph.add(reshape_def(), {x}); });
  expect_bad_input<InvalidArgument>("add: takes 2 inputs, got 1",
                                    [&] { graph.add(add_def(), {x}); });
}

TEST_F(BadInput, IndicesOutsideTheirAxis) {
  const auto message_of = [&](Var y, const Feeds& feeds) -> std::string {
    try {
      session.compile({y})(feeds);
    } catch (const DataError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const Feeds feeds = {{"x", Tensor::zeros(DType::f32, {3})},
                       {"i", Tensor::of<std::int64_t>({3}, {0, 2, 3})}};
  const Var gathered = gather(x, i), along = take_along(x, i, 0);
  graph.set_name(gathered, "gathered");
  graph.set_name(along, "along");
  EXPECT_EQ(message_of(gathered, feeds),
            gathered.producer().describe() + ": index 3 is outside an axis of size 3");
  EXPECT_EQ(message_of(along, feeds),
            along.producer().describe() + ": index 3 is outside an axis of size 3");
  const Var marks =
      graph.add(one_hot_def(), {i}, {{"classes", Dim(3)}, {"dtype", DType::f32}, {"checked", true}})
          .output();
  graph.set_name(marks, "marks");
  EXPECT_EQ(message_of(marks, feeds),
            marks.producer().describe() + ": index 3 is outside an axis of size 3");
  const Var loss = cross_entropy(zeros(graph, DType::f32, {3, 2}), i);
  graph.set_name(loss, "loss");
  EXPECT_EQ(message_of(loss, feeds), loss.producer().describe() +
                                         ": label 2 is outside the 2 "
                                         "classes");
}

TEST_F(BadInput, States) {
  const Var zero = zeros(graph, DType::f32, {3});
  expect_bad_input<InvalidArgument>("state_read: there is no state called 'w'",
                                    [&] { read_state(graph, "w"); });
  expect_bad_input<InvalidArgument>("assign: there is no state called 'w'",
                                    [&] { assign(graph, "w", zero); });
  const Var w = parameter("w", zero);
  EXPECT_EQ(state_name(w), "w");
  expect_error<InvalidArgument>("x is not a parameter or buffer", [&] { state_name(x); });
  expect_bad_input<TypeError>("assign: state 'w' holds f32, the value is f64",
                              [&] { assign(graph, "w", wide); });
  expect_bad_input<ShapeError>("add_update: shapes of state and value cannot match: 3 and 2",
                               [&] { add_update(graph, "w", zeros(graph, DType::f32, {2})); });
  expect_error<InvalidArgument>(
      "assign: state is read and written outside of chains, loops and conds; pass it in or out as "
      "a value",
      [&] {
        chain(x, zeros(graph, DType::f32, {2, 3}),
              [&](Var s, Var) { return assign(graph, "w", s); });
      });
  chain(x, zeros(graph, DType::f32, {2, 3}), [&](Var s, Var) {
    expect_error<InvalidArgument>(
        "state 'v' starts from a value of a chain, loop or cond; start it from one outside",
        [&] { buffer("v", s); });
    return s;
  });
}

TEST_F(BadInput, Loops) {
  const auto forever = [](const Vars& s) { return greater(sum(s[0]), -1); };
  const auto same = [](const Vars& s) { return s; };
  const LoopResult endless = loop({x}, forever, same, {.max_steps = 7});
  try {
    session.compile({endless.last[0]})({{"x", Tensor::zeros(DType::f32, {3})}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              endless.last[0].producer().describe() + ": the condition still holds after 7 steps");
  }
  expect_error<InvalidArgument>("loop: max_steps must be positive, got 0",
                                [&] { loop({x}, forever, same, {.max_steps = 0}); });
  expect_error<InvalidArgument>("loop: needs at least one state", [&] { loop({}, forever, same); });
  expect_bad_input<TypeError>("loop: the condition must return one bool scalar", [&] {
    loop(
        {x}, [](const Vars& s) { return s[0]; }, same);
  });
  expect_bad_input<InvalidArgument>("loop: the body returns 0 values for 1 states", [&] {
    loop({x}, forever, [](const Vars&) { return Vars{}; });
  });
  expect_bad_input<TypeError>("loop: state 0 starts as f32 and becomes f64", [&] {
    loop({x}, forever, [](const Vars& s) { return Vars{cast(s[0], DType::f64)}; });
  });
}

TEST_F(BadInput, MaxStepsIsEnoughWhenTheLoopEndsThere) {
  const LoopResult counted = loop(
      {scalar(graph, DType::f32, 0)}, [](const Vars& s) { return less(s[0], 7); },
      [](const Vars& s) { return Vars{s[0] + 1}; }, {.max_steps = 7});
  EXPECT_EQ(session.compile({counted.last[0]})({}).item(), 7);
}

TEST_F(BadInput, SparseMatricesThatAreNone) {
  const Var values = graph.input("values", DType::f32, {2}),
            dense = zeros(graph, DType::f32, {3, 1});
  const Var columns = graph.input("columns", DType::i64, {2}),
            starts = graph.input("starts", DType::i64, {3});
  const Executable run = session.compile({csr_matmul({values, columns, starts, 3}, dense)});
  const auto message_of = [&](std::vector<std::int64_t> c, std::vector<std::int64_t> s) {
    try {
      run({{"values", Tensor::zeros(DType::f32, {2})},
           {"columns", Tensor::of<std::int64_t>({2}, c)},
           {"starts", Tensor::of<std::int64_t>({3}, s)}});
    } catch (const DataError& error) {
      const std::string text = error.what();
      return text.substr(text.find("): ") + 3);
    }
    return std::string();
  };
  EXPECT_EQ(message_of({0, 2}, {0, 1, 2}), "");
  EXPECT_EQ(message_of({0, 3}, {0, 1, 2}), "stored element 1 is in column 3, outside [0, 3)");
  EXPECT_EQ(message_of({0, 1}, {0, 1, 1}),
            "row_starts must go from 0 to the number of stored elements, 2, but it goes from 0 to "
            "1");
  EXPECT_EQ(message_of({0, 1}, {0, 5, 2}),
            "row_starts must not decrease, but 2 follows 5 at position 2");
}

TEST_F(BadInput, ProductsOfSparseMatrices) {
  const auto matrix = [&](std::int64_t rows, Dim columns, DType index = DType::i64) -> Csr {
    const std::string name = "m" + std::to_string(graph.num_ops());
    return {graph.input(name + "v", DType::f32, {4, 2}), graph.input(name + "c", index, {2}),
            graph.input(name + "s", index, {rows + 1}), columns};
  };
  expect_bad_input<ShapeError>(
      "csr_product: columns of the first matrix and rows of the second cannot match: 3 and 2",
      [&] { csr_product(matrix(2, 3), matrix(2, 5), matrix(2, 5)); });
  expect_bad_input<ShapeError>(
      "csr_product: rows of the result and of the first matrix cannot match: 3 and 2",
      [&] { csr_product(matrix(2, 3), matrix(3, 5), matrix(3, 5)); });
  expect_bad_input<TypeError>(
      "csr_product: the patterns have different types, i64, i32 and i64; cast some of them",
      [&] { csr_product(matrix(2, 3), matrix(3, 5, DType::i32), matrix(2, 5)); });
}

}  // namespace antichain::bad_input_test
