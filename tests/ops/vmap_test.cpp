// vmap as users call it.
#include "antichain/ops/vmap/vmap.h"

#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/autodiff/finite_difference.h"
#include "tests/conformance/compare.h"

namespace antichain::vmap_test {

using testing::HasSubstr;

int count_ops(Graph& graph, const OpDef& def, const std::vector<Var>& values) {
  int count = 0;
  for (Op op : schedule(graph, values)) {
    count += &op.def() == &def ? 1 : 0;
  }
  return count;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Gradients of each example's loss by weights that all examples share.
TEST(Vmap, GivesGradientsPerExample) {
  Session session;
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f64, {"batch", 3}), w = graph.input("w", f64, {3, 2}),
            labels = graph.input("labels", i64, {"batch"});
  const auto slope = [&](const Vars& in) -> Vars {
    const Var logits = matmul(tanh(reshape(in[0], {1, 3})), w);
    return {grad(sum(cross_entropy(logits, reshape(in[1], {1}))), w)};
  };
  const Var all = vmap(slope)({xs, labels})[0];
  EXPECT_EQ(to_string(all.shape()), "[batch, 3, 2]");
  EXPECT_EQ(count_ops(graph, chain_def(), {all}), 0);
  const Var whole = grad(sum(cross_entropy(matmul(tanh(xs), w), labels)), w);
  const Tensor x = random_values({4, 3}, 1);
  const Feeds feeds = {{"xs", x},
                       {"w", random_values({3, 2}, 2)},
                       {"labels", Tensor::of<std::int64_t>({4}, {0, 1, 1, 0})}};
  const std::vector<Tensor> found = session.compile({sum(all, {0}), whole, all})(feeds).tensors();
  conformance::expect_close(found[0], found[1], 1e-13, "sum of the gradients");
  for (std::int64_t i = 0; i < 4; ++i) {
    Feeds one = feeds;
    one["xs"] = x.slice(0, i, 1).contiguous();
    one["labels"] = feeds.at("labels").slice(0, i, 1).contiguous();
    conformance::expect_close(found[2].select(0, i), session.compile({whole})(one)[0], 1e-13,
                              "example " + std::to_string(i));
  }
}

TEST(Vmap, TakesAnyAxis) {
  Session session;
  Graph graph = session.graph();
  const Var a = graph.input("a", f64, {2, 5}), b = graph.input("b", f64, {4, 5, 3}),
            c = graph.input("c", f64, {2});
  const auto f = [](const Vars& in) -> Vars { return {in[0] * in[2] + sum(in[1]), in[2]}; };
  const Vars found = vmap(f, {1, -2, std::nullopt})({a, b, c});
  EXPECT_EQ(to_string(found[0].shape()), "[5, 2]");
  EXPECT_EQ(to_string(found[1].shape()), "[5, 2]");  // the same in all copies, repeated
  const Var want = transpose(a) * c + expand_dims(sum(b, {0, 2}), 1);
  const std::vector<Tensor> values =
      session
          .compile({found[0], want})({{"a", random_values({2, 5}, 1)},
                                      {"b", random_values({4, 5, 3}, 2)},
                                      {"c", random_values({2}, 3)}})
          .tensors();
  conformance::expect_close(values[0], values[1], 1e-13, "axes 1 and -2");
}

TEST(Vmap, NestsAndComputesAtOnce) {
  Session session;
  Eager eager(session);
  const Var a = eager(random_values({2, 3}, 1)), b = eager(random_values({3, 4}, 2));
  const auto dot = [](const Vars& in) -> Vars { return {sum(in[0] * in[1])}; };
  const auto rows = [&](const Vars& in) { return vmap(dot, {std::nullopt, 1})(in); };
  const Var product = vmap(rows, {0, std::nullopt})({a, b})[0];
  conformance::expect_close(product.value(), matmul(a, b).value(), 1e-14, "a product");
  const VarFunction normed = vmap([](Var x) { return x / sum(x); }, 1);
  EXPECT_EQ(normed(a).value().shape(), Shape({3, 2}));
}

// As a chain over the copies that carries nothing: a draw for each copy, the same bits.
TEST(Vmap, DrawsForEachCopyWhatAChainDraws) {
  Session session;
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f64, {5, 7});
  // One call site: a draw is told apart from others of the graph by its stream.
  const auto key = constant(graph, Tensor::of<std::int64_t>({2}, {3, 4}));
  const auto noisy = [&](Var x, Var own) {
    return x + random_normal(graph, f64, x.shape(), {.key = own});
  };
  const auto keyed = [&](Var x, Var number) { return noisy(x, fold_in(key, number)); };
  const Var numbers = iota(graph, i64, 5);
  const Var mapped =
      vmap([&](const Vars& in) -> Vars { return {keyed(in[0], in[1])}; })({xs, numbers})[0];
  const Var stepped = chain({}, {xs}, [&](Var step, const Vars&, const Vars& x) -> StepResult {
                        return {{}, {keyed(x[0], step)}};
                      }).ys[0];
  const Var implicit =
      vmap([&](Var x) { return x * random_uniform(graph, f64, {7}); })(ones(graph, f64, {5, 7}));
  const Var shared = vmap([&](Var x) { return noisy(x, key); })(zeros(graph, f64, {5, 7}));
  const std::vector<Tensor> found =
      session.compile({mapped, stepped, implicit, shared})({{"xs", random_values({5, 7}, 1)}})
          .tensors();
  EXPECT_TRUE(bit_equal(found[0], found[1]));
  EXPECT_FALSE(bit_equal(found[2].select(0, 0).contiguous(), found[2].select(0, 1).contiguous()));
  EXPECT_TRUE(bit_equal(found[3].select(0, 0).contiguous(), found[3].select(0, 1).contiguous()));
}

// Copies of convolutions are one convolution, whatever differs between them.
TEST(Vmap, KeepsConvolutionsAtOnce) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {2, 4, 6, 5}), w = graph.input("w", f64, {6, 2, 3, 3});
  const Var xs = graph.input("xs", f64, {3, 2, 4, 6, 5}),
            ws = graph.input("ws", f64, {3, 6, 2, 3, 3});
  const ConvOptions options{.padding = {1, 1}, .groups = 2};
  const auto f = [&](const Vars& in) -> Vars {
    const Var y = max_pool(relu(conv(in[0], in[1], options)), {.window = {2, 2}});
    return {y, grad(sum(square(y)), in[0]), grad(sum(square(y)), in[1])};
  };
  for (const bool both : {true, false}) {
    for (const bool first : {true, false}) {
      const Vars in = {both || first ? xs : x, both || !first ? ws : w};
      const MappedAxes axes = {both || first ? std::optional<std::int64_t>(0) : std::nullopt,
                               both || !first ? std::optional<std::int64_t>(0) : std::nullopt};
      const Vars found = vmap(f, axes)(in);
      EXPECT_EQ(count_ops(graph, chain_def(), found), 0);
      EXPECT_EQ(count_ops(graph, conv_def(), found), 1);
      EXPECT_EQ(count_ops(graph, conv_input_gradient_def(), found), 1);
      EXPECT_EQ(count_ops(graph, conv_weight_gradient_def(), found), 1);
    }
  }
  // How many groups there are must be known; where it is not, they are computed one by one.
  const Var many = graph.input("many", f64, {"n", 2, 4, 6}),
            weights = graph.input("weights", f64, {"n", 5, 4, 3});
  const auto plain = [](const Vars& in) -> Vars { return {conv(in[0], in[1])}; };
  EXPECT_EQ(count_ops(graph, chain_def(), vmap(plain)({many, weights})), 1);
  EXPECT_EQ(count_ops(graph, chain_def(),
                      vmap(plain, {0, std::nullopt})({many, weights.reshape({-1, 4, 3})})),
            0);
}

TEST(Vmap, KeepsOneChainForAllCopies) {
  Session session;
  Graph graph = session.graph();
  const Var hs = graph.input("hs", f64, {3, 2}), xs = graph.input("xs", f64, {4, 3, 2});
  const auto f = [](const Vars& in) -> Vars {
    const auto cell = [](Var h, Var x) { return tanh(h * 0.5 + x); };
    return {chain(in[0], in[1], cell).all};
  };
  const Var all = vmap(f, {0, 1})({hs, xs})[0];
  EXPECT_EQ(count_ops(graph, chain_def(), {all}), 1);
  EXPECT_EQ(to_string(all.shape()), "[3, 4, 2]");
}

TEST(Vmap, NoticesIndicesOutsideOfEachCopy) {
  Session session;
  Graph graph = session.graph();
  const Var tables = graph.input("tables", f64, {2, 3, 2}), ids = graph.input("ids", i64, {2, 2});
  const auto look_up = [](const Vars& in) -> Vars { return {gather(in[0], in[1])}; };
  const Executable step = session.compile(vmap(look_up)({tables, ids}));
  const Tensor table = random_values({2, 3, 2}, 1);
  const Tensor found =
      step({{"tables", table}, {"ids", Tensor::of<std::int64_t>({2, 2}, {2, 0, 1, 1})}})[0];
  EXPECT_EQ(found.select(0, 1).contiguous().to_vector<double>()[0], table.to_vector<double>()[8]);
  // 3 is no row of the first table, though it is the first one of the second.
  EXPECT_THROW(step({{"tables", table}, {"ids", Tensor::of<std::int64_t>({2, 2}, {3, 0, 1, 1})}}),
               DataError);
}

TEST(Vmap, SaysWhatItCannotDo) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {3, 2}), y = graph.input("y", f64, {4, 2});
  const auto both = [](const Vars& in) -> Vars { return {in[0] + in[1]}; };
  EXPECT_THAT(message_of([&] {
                vmap(both)({x, y});
              }),
              HasSubstr("vmap: arguments have 3 and 4 copies along their mapped axes"));
  EXPECT_THAT(message_of([&] {
                vmap(both, {0})({x, y});
              }),
              HasSubstr("vmap: there are axes for 1 arguments, but 2 arguments"));
  EXPECT_THAT(message_of([&] {
                vmap(both, {0, 2})({x, y});
              }),
              HasSubstr("vmap: argument 1, y, has no axis 2; its shape is [4, 2]"));
  EXPECT_THAT(message_of([&] {
                vmap(both, {std::nullopt, std::nullopt})({x, y});
              }),
              HasSubstr("vmap: at least one argument must be mapped"));
  EXPECT_THAT(message_of([&] { vmap([](Var v) { return print(v); })(x); }),
              HasSubstr("has an effect, which must happen step by step"));
  EXPECT_THAT(message_of([&] {
                vmap([](Var v) {
                  return loop(
                             {v}, [](const Vars& s) { return less(sum(s[0]), 4); },
                             [](const Vars& s) { return Vars{s[0] * 2}; })
                      .last[0];
                })(x);
              }),
              HasSubstr("finds out sizes when it runs"));
}

// A body that cannot be mapped runs copy by copy.
TEST(Vmap, RunsBodiesThatFindSizesCopyByCopy) {
  Session session;
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f64, {3, 2});
  const auto f = [&](Var x) {
    return call(graph, [&] {
      return loop(
                 {x}, [](const Vars& s) { return less(sum(s[0]), 40); },
                 [](const Vars& s) { return Vars{s[0] * 2}; })
          .last;
    })[0];
  };
  const Var found = vmap(f)(xs);
  const Tensor values =
      session.compile({found})({{"xs", Tensor::of<double>({3, 2}, {1, 2, 20, 30, 9, 1})}})[0];
  EXPECT_EQ(values.to_vector<double>(), (std::vector<double>{16, 32, 20, 30, 36, 4}));
}

}  // namespace antichain::vmap_test
