// Engines for parts of a model, with options, and gradients that are cut.
#include <gmock/gmock.h>

#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/tensor/expect_error.h"

namespace antichain::model_parts_test {

using testing::HasSubstr;

// An encoder with a chain, a head, and a way past the head.
struct Model {
  Var loss, losses, encoded;
  Vars weights;
};

Model build(Graph& graph, const std::string& plan) {
  graph.choose_engines(EnginePlan::parse(plan));
  const Var xs = graph.input("xs", f64, {5, 3, 4});
  Var h;
  {
    const ScopeGuard encoder(graph, "encoder");
    h = nn::rnn(xs, 4, {.name = "rnn"}).all;
    h = sum(h, {0});
  }
  Var hidden, out;
  {
    const ScopeGuard head(graph, "head");
    hidden = tanh(nn::linear(h, 3, {.name = "first"}));
  }
  const Var scaled = hidden * sum(h, {1}, true);  // reads what the head makes, and past it
  {
    const ScopeGuard head(graph, "head");
    out = nn::linear(scaled, 2, {.name = "second"});
  }
  const Var losses = sum(square(out), {1});
  return {mean(losses), losses, h, parameters(graph)};
}

Tensor random_values(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  std::ranges::generate(values, [&] { return draw(generator); });
  return Tensor::of<double>(shape, values);
}

std::vector<Tensor> gradients(const std::string& plan, const GradOptions& options = {},
                              bool cut = false) {
  Session session({.seed = 3});
  Graph graph = session.graph();
  const Model model = build(graph, plan);
  GradOptions with_cut = options;
  if (cut) {
    with_cut.at = {model.losses};
  }
  Vars outputs = grad(model.loss, model.weights, with_cut);
  outputs.push_back(model.loss);
  return session.compile(outputs)({{"xs", random_values({5, 3, 4}, 1)}}).tensors();
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    conformance::expect_close(got[i], want[i], 1e-12, "value " + std::to_string(i));
  }
}

TEST(EnginePlan, EveryPartByAnotherEngine) {
  const std::vector<Tensor> want = gradients("");
  for (const char* plan :
       {"encoder=scan, *=backprop", "encoder=scan:when=always", "encoder=forward, head=forward",
        "head=forward", "head.first=forward, head.second=forward", "*=forward", "forward", "scan",
        "encoder=scan:algorithm=chunked,chunk=2; head=forward"}) {
    SCOPED_TRACE(plan);
    expect_same(gradients(plan), want);
  }
}

TEST(EnginePlan, GivesRegionsTheirEngines) {
  Session session;
  Graph graph = session.graph();
  const Model model = build(graph, "encoder=scan:chunk=0, head=forward");
  const auto count = [&](const std::string& engine) {
    int found = 0;
    for (std::uint32_t i = 0; i < graph.num_ops(); ++i) {
      found += engine_choice(graph.op(OpId{i})).str() == engine ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(count("scan:chunk=0"), 1);
  EXPECT_EQ(count("forward"), 0);
  grad(model.loss, model.weights);
  // The head is used in two places with something else in between.
  EXPECT_EQ(count("forward"), 2);
}

TEST(EnginePlan, DerivativesOfAChainAreNoPartOfTheModel) {
  Session session;
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("scan"));
  const Var h = graph.input("h", f64, {3}), xs = graph.input("xs", f64, {4, 3});
  const Var last = chain(h, xs, [](Var s, Var x) { return tanh(s * x); }).last;
  const std::size_t built = graph.num_ops();
  grad(sum(last), {h, xs});
  for (std::uint32_t i = static_cast<std::uint32_t>(built); i < graph.num_ops(); ++i) {
    EXPECT_TRUE(engine_choice(graph.op(OpId{i})).is_backprop()) << graph.op(OpId{i}).describe();
  }
}

TEST(EnginePlan, SaysWhatIsNoPartOfTheModel) {
  expect_error<InvalidArgument>(
      "no part of the model is called 'encodr'; its parts are: encoder, "
      "head",
      [] { gradients("encodr=scan"); });
}

TEST(EngineOptions, AreCheckedByTheEngine) {
  const auto message = [](const char* plan) {
    try {
      gradients(plan);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message("encoder=scan:chunks=3"),
              HasSubstr("engine 'scan' has no option 'chunks'; did you mean 'chunk'? (`antichain "
                        "engines scan` lists them)"));
  EXPECT_THAT(message("encoder=scan:chunk=-1"),
              HasSubstr("option 'chunk' must be within [0, 1000000000], got -1"));
  EXPECT_THAT(message("encoder=scan:chunk=5"),
              HasSubstr("the option chunk of engine 'scan' is for algorithm=hybrid and "
                        "algorithm=chunked"));
  EXPECT_THAT(message("encoder=forward:speed=3"),
              HasSubstr("engine 'forward' has no option 'speed': it has none at all"));
  EXPECT_THAT(message("encoder=scann"),
              HasSubstr("there is no gradient engine 'scann'; did you mean 'scan'?"));
}

TEST(EngineOptions, OfASessionHoldUntilARegionSaysOtherwise) {
  expect_error<InvalidArgument>(
      "engine 'scan' has no option 'size'; did you mean 'when'? (`antichain engines scan` lists "
      "them)",
      [] { const Session session({.engines = {"scan:size=3"}}); });
  const auto how = [](const EngineChoice& engine) {
    Session session({.engines = {"scan:when=always"}});
    Graph graph = session.graph();
    const Var h = graph.input("h", f32, {8, 64}), xs = graph.input("xs", f32, {4, 8, 64}),
              w = graph.input("w", f32, {64, 64});
    const auto cell = [&](Var s, Var x) { return tanh(matmul(s, w) + x); };
    const Op op = chain(h, xs, cell, {.engine = engine}).last.producer();
    return session.engines().find("scan").explain(op);
  };
  EXPECT_EQ(how("scan"), "by a scan, as it was asked for");
  EXPECT_THAT(how("scan:when=faster"), testing::StartsWith("step by step"));
}

TEST(GradientCut, AddsUpToTheWholeGradient) {
  const std::vector<Tensor> want = gradients("");
  expect_same(gradients("", {}, true), want);
  expect_same(gradients("", {.engine = "forward"}, true), want);
  expect_same(gradients("head=forward", {}, true), want);
}

// The head is no region before its gradient is built, whoever differentiates up to the cut.
TEST(GradientCut, LeavesPartsBehindItToTheirEngines) {
  const std::vector<Tensor> want = gradients("");
  for (const auto& [plan, options] : {std::pair("head=forward, *=backprop", GradOptions{}),
                                      {"encoder=scan, head=forward", {}},
                                      {"head=forward", {.engine = "forward"}}}) {
    SCOPED_TRACE(fmt::format("{} {}", plan, options.engine.str()));
    Session session({.seed = 3});
    Graph graph = session.graph();
    const Model model = build(graph, plan);
    GradOptions with_cut = options;
    with_cut.at = {model.encoded};
    const std::size_t built = graph.num_ops();
    Vars outputs = grad(model.loss, model.weights, with_cut);
    int regions_of_the_head = 0;
    for (std::uint32_t i = static_cast<std::uint32_t>(built); i < graph.num_ops(); ++i) {
      const Op op = graph.op(OpId{i});
      const bool reads_head = std::ranges::any_of(op.inputs(), [](Var input) {
        return input.has_name() && input.name().starts_with("head.");
      });
      regions_of_the_head += reads_head && engine_choice(op).str() == "forward" ? 1 : 0;
    }
    EXPECT_GE(regions_of_the_head, 1);
    outputs.push_back(model.loss);
    expect_same(session.compile(outputs)({{"xs", random_values({5, 3, 4}, 1)}}).tensors(), want);
  }
}

TEST(GradientCut, CountsWhatGoesPastIt) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {3});
  const Var middle = sin(x), y = sum(middle * exp(x) + middle * middle);
  for (const char* engine : {"backprop", "forward"}) {
    const Var cut = grad(y, x, {.engine = engine, .at = {middle}});
    const Results both =
        session.compile({cut, grad(y, x)})({{"x", Tensor::of<double>({3}, {0.1, 0.7, -2})}});
    conformance::expect_close(both[0], both[1], 1e-13, engine);
  }
  // By the cut itself, and by the same value twice.
  const Results self =
      session.compile({grad(y, middle, {.at = {middle, middle}}), grad(y, middle)})(
          {{"x", Tensor::of<double>({3}, {0.1, 0.7, -2})}});
  conformance::expect_close(self[0], self[1], 1e-13, "the cut itself");
}

TEST(GradientCut, SaysWhereNothingGoesThrough) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {3});
  const Var unused = exp(x);
  graph.set_name(unused, "unused");
  const Var y = sum(sin(x));
  graph.set_name(y, "y");
  expect_error<InvalidArgument>("y does not depend on unused, where its gradient is to be cut",
                                [&] { grad(y, x, {.at = {unused}}); });
}

// Asks for the losses of the examples, and remembers the shape of what it was given.
class AsksForLosses final : public GradientEngine {
 public:
  explicit AsksForLosses(Dims& seen) : seen_(seen) {}
  std::string_view name() const override { return "asks"; }
  std::string_view summary() const override { return "for tests"; }
  Guarantee guarantee() const override { return Guarantee::exact; }
  bool wants_example_losses() const override { return true; }
  Support supports(Op, const std::vector<bool>&) const override { return {}; }
  std::vector<Var> differentiate(VjpContext& context) const override {
    seen_ = context.op().output().shape();
    return context.op().def().vjp(context);
  }

 private:
  Dims& seen_;
};

TEST(ExampleLosses, ReachTheEngineThatAsksForThem) {
  Dims seen;
  const auto engines = std::make_shared<EngineSet>();
  engines->add(make_backprop_engine());
  engines->add(std::make_unique<AsksForLosses>(seen));
  for (const auto& [plan, wants] : {std::pair("", false),
                                    {"backprop", false},
                                    {"asks", true},
                                    {"head=asks, *=backprop", true}}) {
    EXPECT_EQ(wants_example_losses(*engines, EnginePlan::parse(plan)), wants) << plan;
  }
  Graph graph(engines);
  const Var x = graph.input("x", f64, {5, 3}), w = graph.input("w", f64, {3});
  const Var losses = sum(square(x * w), {1});
  const Var got = grad(mean(losses), w, {.engine = "asks", .at = {losses}});
  EXPECT_EQ(seen, (Dims{5}));
  grad(mean(losses), w, {.engine = "asks"});
  EXPECT_TRUE(seen.empty());  // the mean, where nobody names the losses
  // As the part of a plan it sees the losses, too, and not what is behind them.
  Graph planned(engines);
  planned.choose_engines(EnginePlan::parse("asks"));
  const Var v = planned.input("v", f64, {5, 3}), weights = planned.input("weights", f64, {3});
  const Var its_losses = sum(square(v * weights), {1});
  grad(mean(its_losses), weights, {.at = {its_losses}});
  EXPECT_EQ(seen, (Dims{5}));
  Session session;
  const Results both = session.compile({got, grad(mean(losses), w)})(
      {{"x", random_values({5, 3}, 1)}, {"w", random_values({3}, 2)}});
  conformance::expect_close(both[0], both[1], 1e-14, "gradient");
}

TEST(ForwardReplacement, IsNamedWhereARegionIsBuilt) {
  Session session;
  Graph graph = session.graph();
  const Model model = build(graph, "");
  EXPECT_THROW(grad(model.loss, model.weights, {.engine = "scan:forward=newton"}), NotSupported);
  expect_error<NotSupported>(
      "engine 'scan:forward=newton' runs regions forward in its own way, and the part 'head' of "
      "the "
      "model has no region: it was computed as it was built",
      [] { gradients("head=scan:forward=newton"); });
  expect_same(gradients("encoder=scan:forward=newton"), gradients(""));
  Graph plain;
  const Var x = plain.input("x", f64, {});
  EXPECT_THROW(grad(square(x), x, {.engine = "scan"}), InvalidArgument);
}

}  // namespace antichain::model_parts_test
