// The main features with one include: what a user's program may rely on.
#include <antichain/antichain.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

namespace ac = antichain;
using Doubles = std::vector<double>;

class Umbrella : public testing::Test {
 protected:
  Doubles run(ac::Var value, const ac::Feeds& feeds = {}) {
    return session.compile({value})(feeds)[0].to_vector<double>();
  }

  ac::Session session{{.seed = 3, .logger = ac::Logger(ac::LogLevel::error)}};
  ac::Graph graph = session.graph();
  ac::Feeds at_two = {{"x", ac::Tensor::of<double>({1}, {2})}};
  ac::Var x = graph.input("x", ac::f64, {"n"});
};

TEST_F(Umbrella, GraphsAndDerivatives) {
  const ac::Var cube = x * x * x;
  EXPECT_EQ(run(cube, at_two), Doubles{8});
  EXPECT_EQ(run(ac::grad(cube, x), at_two), Doubles{12});
  EXPECT_EQ(run(ac::vjp({cube}, {x}, {x})[0], at_two), Doubles{24});
  EXPECT_EQ(run(ac::jvp({cube}, {x}, {x})[0], at_two), Doubles{24});
  EXPECT_EQ(run(ac::jacobian(cube, x), at_two), Doubles{12});
  EXPECT_EQ(run(ac::hessian_vector_product(cube, x, x), at_two), Doubles{24});
  EXPECT_NE(ac::print_text(graph).find("multiply(x, x)"), std::string::npos);
  EXPECT_EQ(ac::print_dot(graph).substr(0, 7), "digraph");
}

TEST_F(Umbrella, ControlFlowAndEngines) {
  const auto step = [](ac::Var s, ac::Var v) { return s * v; };
  const ac::Var one = ac::scalar(graph, ac::f64, 1);
  const ac::Feeds two_three = {{"x", ac::Tensor::of<double>({2}, {2, 3})}};
  for (const char* engine : {"backprop", "forward"}) {
    const ac::Var product = ac::chain(one, x, step, {.engine = engine}).last;
    EXPECT_EQ(run(ac::grad(product, x), two_three), (Doubles{3, 2})) << engine;
  }
  const ac::LoopResult doubled = ac::loop(
      {ac::sum(x)}, [](const ac::Vars& s) { return ac::less(s[0], 100); },
      [](const ac::Vars& s) { return ac::Vars{2 * s[0]}; });
  EXPECT_EQ(run(doubled.last[0], at_two), Doubles{128});
  const ac::Vars chosen = ac::cond(
      ac::greater(ac::sum(x), 1), [&] { return ac::Vars{x + 1}; }, [&] { return ac::Vars{x - 1}; });
  EXPECT_EQ(run(chosen[0], at_two), Doubles{3});
}

TEST_F(Umbrella, StateTrainingAndRandomNumbers) {
  const ac::Var features = ac::random_normal(graph, ac::f32, {8, 2});
  const ac::Var loss = ac::mean(ac::square(ac::nn::mlp(features, {4, 1})));
  const ac::Executable train =
      session.compile({loss}, {.updates = ac::optim::sgd(loss, {.lr = 0.05})});
  const double first = train({}).item<double>();
  for (int i = 0; i < 50; ++i) {
    train({});
  }
  EXPECT_LT(train({}).item<double>(), first);
  EXPECT_EQ(session.states().get("mlp.0.weight").shape(), (ac::Shape{2, 4}));
}

// A network of every kind of layer, trained in bf16 and evaluated in another graph.
TEST_F(Umbrella, LayersAndLosses) {
  const auto model = [](ac::Var image, bool training) {
    const ac::Var seen = ac::relu(ac::nn::batch_norm(
        ac::nn::conv2d(ac::cast(image, ac::bf16), 4, {3, 3}), {.training = training}));
    const ac::Var pooled = ac::nn::global_avg_pool(ac::max_pool(seen, {.window = {2, 2}}));
    const ac::Var deep = ac::nn::residual(pooled, 3, {.step = 0.5}).last;
    const ac::Var sequence = ac::expand_dims(deep, 1);
    const ac::Var attended = ac::nn::transformer_block(sequence, {.heads = 2});
    const ac::Var state = ac::nn::gru(attended, 4, {.batch_first = true}).last;
    return ac::nn::linear(ac::nn::dropout(ac::squeeze(state, 0), {.training = training}), 2);
  };
  ac::Graph evaluation = session.graph();
  const ac::Var image = graph.input("image", ac::f32, {"batch", 1, 6, 6});
  const ac::Var label = graph.input("label", ac::i64, {"batch"});
  const ac::Var loss = ac::mean(ac::nn::cross_entropy(model(image, true), label));
  const ac::Executable train = session.compile({loss}, {.updates = ac::optim::sgd(loss)});
  const ac::Var other = evaluation.input("image", ac::f32, {"batch", 1, 6, 6});
  const ac::Executable evaluate = session.compile({model(other, false)});
  const ac::Feeds feeds = {{"image", ac::Tensor::full(ac::f32, {3, 1, 6, 6}, 0.5)},
                           {"label", ac::Tensor::of<std::int64_t>({3}, {0, 1, 1})}};
  EXPECT_GT(train(feeds).item(), 0);
  EXPECT_EQ(evaluate({{"image", feeds.at("image")}})[0].shape(), (ac::Shape{3, 2}));
  EXPECT_EQ(session.states().get("gru.weight_hh").dtype(), ac::f32);
}

TEST_F(Umbrella, EagerAndRecord) {
  const auto function = [](const std::vector<ac::Var>& in) {
    return std::vector<ac::Var>{ac::sum(ac::square(in[0]))};
  };
  ac::Eager eager(session);
  EXPECT_EQ(function({eager(at_two.at("x"))})[0].item<double>(), 4);
  EXPECT_EQ(ac::record(session, {{"x", ac::f64, {"n"}}}, function)(at_two).item<double>(), 4);
}

TEST_F(Umbrella, ObserversSeeARun) {
  struct Counter final : ac::RunObserver {
    void ran(const ac::OpEvent&) override { ++count; }
    int count = 0;
  };
  Counter counter;
  ac::Profiler profiler;
  ac::FiniteCheck check;
  const ac::Executable executable = session.compile({ac::log(x)});
  executable.run(at_two, {&counter, &profiler, &check});
  EXPECT_GT(counter.count, 0);
  EXPECT_EQ(profiler.rows()[0].op, "log");
  EXPECT_THROW(executable.run({{"x", ac::Tensor::zeros(ac::f64, {1})}}, {&check}), ac::DataError);
}

TEST_F(Umbrella, AnOperatorOfOnesOwn) {
  const ac::OpDef halve{
      .name = "halve",
      .doc = "Half of x.",
      .infer = [](ac::InferContext& c) { return std::vector<ac::VarType>{c.type(0)}; },
      .vjp = [](ac::VjpContext& c) { return std::vector<ac::Var>{c.grad() / 2}; },
      .reference =
          [](ac::KernelContext& c) { *c.out().data<double>() = *c.in(0).data<double>() / 2; }};
  const ac::Var y = ac::apply(halve, {x});
  EXPECT_EQ(run(y, at_two), Doubles{1});
  EXPECT_EQ(run(ac::grad(y, x), at_two), Doubles{0.5});
}

TEST_F(Umbrella, DataInBatches) {
  const auto points = ac::data::spirals({.arms = 2, .points = 40});
  ac::Graph model = session.graph();
  const ac::Var corners = model.input("x", ac::f32, {"batch", 2});
  const ac::Var arms = model.input("y", ac::i64, {"batch"});
  const ac::Var loss =
      ac::mean(ac::cross_entropy(ac::nn::mlp(corners, {8, 2}, {.name = "arms"}), arms));
  const ac::Executable train =
      session.compile({loss}, {.updates = ac::optim::sgd(loss, {.lr = 0.1})});
  ac::data::Batches batches(points, {.batch = 15});
  int steps = 0;
  ac::data::Batch batch;
  for (batches.start(0); batches.next(batch); ++steps) {
    EXPECT_TRUE(std::isfinite(train(batch).item<double>()));
  }
  EXPECT_EQ(steps, 3);
}

TEST_F(Umbrella, SparseDataIsWhatSparseOperatorsTake) {
  ac::data::SparseRows rows(3);
  rows.add(std::vector<std::int32_t>{0, 2}, std::vector<float>{2, 3});
  rows.add({}, {});
  ac::data::Batch batch;
  rows.put(batch, "a");
  ac::Graph model = session.graph();
  const ac::Csr a = {.values = model.input("a_values", ac::f32, {"entries"}),
                     .columns = model.input("a_columns", ac::i32, {"entries"}),
                     .row_starts = model.input("a_row_starts", ac::i32, {"ends"}),
                     .num_columns = 3};
  const ac::Var dense = ac::constant(model, ac::Tensor::of<float>({3, 1}, {1, 10, 100}));
  EXPECT_EQ(run(ac::csr_matmul(a, dense), batch), (Doubles{302, 0}));
}

TEST_F(Umbrella, CatalogueEnginesAndDevice) {
  EXPECT_EQ(ac::find_op("matmul").name, "matmul");
  std::size_t in_families = 0;
  for (const ac::OpFamily& family : ac::op_families()) {
    in_families += family.ops.size();
  }
  EXPECT_EQ(in_families, ac::op_catalogue().size());
  EXPECT_EQ(session.engines().find("backprop").guarantee(), ac::Guarantee::exact);
  EXPECT_EQ(session.backend().device(), ac::Device{});
}

TEST_F(Umbrella, MistakesHaveATypeAndASentence) {
  EXPECT_THROW(ac::matmul(x, x), ac::ShapeError);
  EXPECT_THROW(x + ac::cast(x, ac::f32), ac::TypeError);
  EXPECT_THROW(session.compile({x})({}), ac::InvalidArgument);
}

}  // namespace
