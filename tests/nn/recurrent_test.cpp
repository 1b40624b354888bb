// That values and gradients are PyTorch's is checked by tests/peer.
#include "antichain/nn/recurrent.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::recurrent_test {

constexpr std::int64_t kTime = 5, kBatch = 2, kIn = 3, kHidden = 4;

struct Kind {
  std::string name;
  Recurrent (*function)(Var, std::int64_t, const RecurrentOptions&, Place);
  std::int64_t gates;

  Recurrent build(Var xs, std::int64_t hidden, const RecurrentOptions& options) const {
    return function(xs, hidden, options, Place::current());
  }
};

class EveryRecurrent : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, EveryRecurrent,
                         testing::Values(Kind{"rnn", rnn, 1}, Kind{"lstm", lstm, 4},
                                         Kind{"gru", gru, 3},
                                         Kind{"implicit_gru", implicit_gru, 3}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(EveryRecurrent, NamesItsParameters) {
  Graph graph;
  const std::string& name = GetParam().name;
  const std::int64_t gates = GetParam().gates;
  const Var xs = graph.input("xs", f32, {"time", "batch", kIn});
  const Recurrent one = GetParam().build(xs, kHidden, {});
  EXPECT_EQ(one.all.shape(), (Dims{graph.dim("time"), graph.dim("batch"), kHidden}));
  EXPECT_EQ(one.last.shape(), (Dims{1, graph.dim("batch"), kHidden}));
  EXPECT_EQ(one.last_cell.valid(), name == "lstm");
  const std::string rows = std::to_string(gates * kHidden);
  EXPECT_THAT(list_parameters(graph), testing::ElementsAre(name + ".weight_ih [" + rows + ", 3]",
                                                           name + ".weight_hh [" + rows + ", 4]",
                                                           name + ".bias_ih [" + rows + "]",
                                                           name + ".bias_hh [" + rows + "]"));
  const Recurrent two = GetParam().build(xs, kHidden, {.name = "deep", .layers = 2});
  EXPECT_EQ(two.last.dim(0), Dim(2));
  EXPECT_THAT(list_parameters(graph),
              testing::IsSupersetOf(
                  {"deep.0.weight_ih [" + rows + ", 3]", "deep.1.weight_ih [" + rows + ", 4]"}));
}

TEST_P(EveryRecurrent, HasTheGradientsOfFiniteDifferences) {
  for (const char* engine : {"backprop", "forward", "scan"}) {
    expect_layer_gradients(
        [&](Graph& graph, const std::vector<Var>& in) {
          const Var lengths = constant(graph, Tensor::of<std::int64_t>({kBatch}, {3, 1}));
          const Recurrent found =
              GetParam().build(in[0], 2, {.layers = 2, .lengths = lengths, .engine = engine});
          return concat({found.all, found.last}, 0);
        },
        {random_values({3, kBatch, 2}, 1)});
  }
}

// A sequence alone, at its own length, gives what it gives among longer ones.
TEST_P(EveryRecurrent, StepsBehindTheEndKeepTheState) {
  Session session;
  Graph graph = session.graph(), alone = session.graph();
  const Var lengths = graph.input("lengths", i32, {"batch"});
  const Recurrent padded = GetParam().build(graph.input("xs", f64, {"time", "batch", kIn}), kHidden,
                                            {.lengths = lengths});
  const Recurrent short_one =
      GetParam().build(alone.input("xs", f64, {"time", "batch", kIn}), kHidden, {});
  const Tensor xs = random_values({kTime, kBatch, kIn}, 2);
  const Results found = session.compile({padded.all, padded.last})(
      {{"xs", xs}, {"lengths", Tensor::of<std::int32_t>({kBatch}, {5, 2})}});
  const Results expected =
      session.compile({short_one.last})({{"xs", xs.slice(0, 0, 2).slice(1, 1, 1).clone()}});
  const std::vector<double> want = expected[0].to_vector<double>();
  for (std::int64_t step = 1; step < kTime; ++step) {
    const Tensor state = found[0].slice(0, step, 1).slice(1, 1, 1).clone();
    EXPECT_THAT(state.to_vector<double>(), testing::Pointwise(testing::DoubleNear(1e-14), want));
  }
  EXPECT_THAT(found[1].slice(1, 1, 1).clone().to_vector<double>(),
              testing::Pointwise(testing::DoubleNear(1e-14), want));
}

// From the end: a sequence among longer ones starts where it ends.
TEST_P(EveryRecurrent, ReverseStartsAtTheEndOfEachSequence) {
  Session session;
  Graph graph = session.graph(), alone = session.graph();
  const Var lengths = constant(graph, Tensor::of<std::int64_t>({kBatch}, {5, 2}));
  const Recurrent padded = GetParam().build(graph.input("xs", f64, {kTime, kBatch, kIn}), kHidden,
                                            {.reverse = true, .lengths = lengths});
  const Recurrent turned = GetParam().build(alone.input("xs", f64, {2, 1, kIn}), kHidden, {});
  const Tensor xs = random_values({kTime, kBatch, kIn}, 2);
  const Tensor second = xs.slice(0, 0, 2).slice(1, 1, 1).clone(), flipped = second.clone();
  flipped.slice(0, 0, 1).copy_from(second.slice(0, 1, 1));
  flipped.slice(0, 1, 1).copy_from(second.slice(0, 0, 1));
  const Results found = session.compile({padded.last})({{"xs", xs}});
  const Results expected = session.compile({turned.last})({{"xs", flipped}});
  EXPECT_THAT(found[0].slice(1, 1, 1).clone().to_vector<double>(),
              testing::Pointwise(testing::DoubleNear(1e-14), expected[0].to_vector<double>()));
}

TEST_P(EveryRecurrent, BatchFirstIsTheSameTransposed) {
  Session session;
  Graph graph = session.graph(), other = session.graph();
  const Recurrent time_first =
      GetParam().build(graph.input("xs", f64, {kTime, kBatch, kIn}), kHidden, {.layers = 2});
  const Recurrent batch_first = GetParam().build(other.input("xs", f64, {kBatch, kTime, kIn}),
                                                 kHidden, {.layers = 2, .batch_first = true});
  const Tensor xs = random_values({kTime, kBatch, kIn}, 3);
  const Results a =
      session.compile({swap_axes(time_first.all, 0, 1), time_first.last})({{"xs", xs}});
  const Results b = session.compile({batch_first.all, batch_first.last})(
      {{"xs", xs.transpose(std::array{1, 0, 2}).clone()}});
  EXPECT_TRUE(bit_equal(a[0], b[0]));
  EXPECT_TRUE(bit_equal(a[1], b[1]));
}

TEST_P(EveryRecurrent, NoStepLeavesTheStart) {
  Session session;
  Graph graph = session.graph();
  const Var start = graph.input("start", f64, {1, "batch", 2});
  const Recurrent found =
      GetParam().build(graph.input("xs", f64, {"time", "batch", kIn}), 2, {.start = start});
  const Tensor state = Tensor::of<double>({1, 1, 2}, {0.5, -1});
  const Results result = session.compile({found.last, found.all})(
      {{"xs", Tensor::zeros(f64, {0, 1, kIn})}, {"start", state}});
  EXPECT_TRUE(bit_equal(result[0], state));
  EXPECT_EQ(result[1].shape(), (Shape{0, 1, 2}));
}

TEST_P(EveryRecurrent, RefusesWhatDoesNotFit) {
  Graph graph;
  const auto& [kind, build, gates] = GetParam();
  const std::string name = kind;
  const auto try_to = [&, call = build](Var xs, std::int64_t hidden,
                                        const RecurrentOptions& options) {
    return [=] { call(xs, hidden, options, Place::current()); };
  };
  const Var xs = graph.input("xs", f32, {"time", "batch", kIn});
  const Var ids = graph.input("ids", i64, {2, 2, 2}), flat = graph.input("flat", f32, {"n", 3});
  expect_error<InvalidArgument>(name + ": there is no x", try_to(Var(), 2, {}));
  expect_error<TypeError>(name + ": x must be floating-point, it is i64", try_to(ids, 2, {}));
  expect_error<ShapeError>(name + ": xs must be [time, batch, features], their shape is [n, 3]",
                           try_to(flat, 2, {}));
  expect_error<ShapeError>(name + ": xs must be [batch, time, features], their shape is [n, 3]",
                           try_to(flat, 2, {.batch_first = true}));
  expect_error<InvalidArgument>(name + ": hidden must be above 0, got 0", try_to(xs, 0, {}));
  expect_error<InvalidArgument>(name + ": layers must be above 0, got 0",
                                try_to(xs, 2, {.layers = 0}));
  expect_error<ShapeError>(name + ": lengths must be [batch], their shape is [2, 2, 2]",
                           try_to(xs, 2, {.lengths = ids}));
  expect_error<TypeError>(name + ": lengths must be i32 or i64, not f32",
                          try_to(xs, 2, {.lengths = flat}));
  expect_error<ShapeError>(name + ": a start must be [layers, batch, hidden], its shape is [n, 3]",
                           try_to(xs, 2, {.start = flat}));
  expect_error<InvalidArgument>(name + ": step must be above 0, got 0", try_to(xs, 2, {.step = 0}));
  if (name != "implicit_gru") {
    expect_error<InvalidArgument>(name + ": has no step, implicit_gru has",
                                  try_to(xs, 2, {.step = 0.5}));
  }
  if (name != "gru") {
    expect_error<InvalidArgument>(name + ": implicit_on_coarse_grids is for gru",
                                  try_to(xs, 2, {.implicit_on_coarse_grids = true}));
  }
  if (name != "lstm") {
    expect_error<InvalidArgument>(name + ": has no cells to start from",
                                  try_to(xs, 2, {.start_cell = xs}));
  }
}

TEST(Recurrent, LayersStartFromDifferentValuesWithinTheBound) {
  Session session;
  Graph graph = session.graph();
  session.compile({gru(graph.input("xs", f32, {"time", "batch", 16}), 16, {.layers = 2}).last});
  EXPECT_FALSE(
      bit_equal(session.states().get("gru.0.weight_hh"), session.states().get("gru.1.weight_hh")));
  EXPECT_THAT(session.states().get("gru.0.weight_hh").to_vector<float>(),
              testing::Each(testing::AllOf(testing::Ge(-0.25F), testing::Le(0.25F))));
}

// One step of one unit, with all weights w and biases b, by the formulas in the header.
TEST(Recurrent, ImplicitGruIsAnImplicitStep) {
  constexpr double kWeight = 0.7, kStep = 2.5, kX = 0.3, kStart = -0.6;
  Session session;
  Graph graph = session.graph();
  const Recurrent found = implicit_gru(graph.input("xs", f64, {1, 1, 1}), 1,
                                       {.start = full(graph, f64, {1, 1, 1}, kStart),
                                        .parameters = constant(kWeight),
                                        .step = kStep});
  const double from_x = kWeight * kX + kWeight, from_h = kWeight * kStart + kWeight;
  const auto sigma = [](double a) { return 1 / (1 + std::exp(-a)); };
  const double fresh = std::tanh(from_x + sigma(from_x + from_h) * from_h);
  const double rate = 1 - sigma(from_x + from_h);
  const double h =
      session.compile({found.last})({{"xs", Tensor::full(f64, {1, 1, 1}, kX)}}).item<double>();
  EXPECT_NEAR(h, (kStart + kStep * rate * fresh) / (1 + kStep * rate), 1e-14);
  EXPECT_NEAR(h - kStart, kStep * rate * (fresh - h), 1e-14);  // implicit Euler
}

}  // namespace antichain::nn::recurrent_test
