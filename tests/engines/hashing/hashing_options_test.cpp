// What can be set about the engine hashing, and what it refuses: in one sentence, where a layer is
// built.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/wide/wide_layers.h"
#include "antichain/session/session.h"
#include "tests/build_paths.h"
#include "tests/tensor/expect_error.h"

namespace antichain::hashing_tests::hashing_options_test {

struct Layer {
  std::int64_t units = 200, features = 8;
  std::int64_t expected_batch = 128;
  bool training = true;
};

// Builds a layer with an engine; returns what the engine says of it.
std::string build(const EngineChoice& engine, const Layer& layer = {}) {
  const Session session;
  Graph graph = session.graph();
  const Dim batch = graph.dim("batch", {.expected = layer.expected_batch});
  const Var x = graph.input("x", f32, {batch, layer.features});
  const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                            .row_starts = graph.input("starts", i64, {batch + 1})};
  const Var losses = nn::wide_losses(x, {layer.units}, truth,
                                     {.name = "out", .engine = engine, .training = layer.training});
  return session.engines().find("hashing").explain(losses.producer());
}

std::string build_always(const std::string& options, const Layer& layer = {}) {
  return build("hashing:when=always," + options, layer);
}

TEST(HashingOptions, EveryOneIsKnownAndExplained) {
  const Session session;
  for (const OptionSpec& option : session.engines().find("hashing").options()) {
    SCOPED_TRACE(option.name);
    EXPECT_FALSE(option.doc.empty());
    EXPECT_NO_THROW(build({"hashing", {{option.name, option.fallback}, {"L", 3}}}));
  }
}

TEST(HashingOptions, ThePageForUsersHasEach) {
  std::ifstream file(source_folder() / "docs/hashing.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Session session;
  for (const OptionSpec& option : session.engines().find("hashing").options()) {
    EXPECT_NE(page.find("\n| `" + option.name + "` | "), std::string::npos) << option.name;
  }
}

TEST(HashingOptions, CodesOfTooManyBits) {
  expect_error<InvalidArgument>(
      "engine 'hashing': K=11 pieces of 3 bits make codes of 33 bits, at most 30 can be",
      [] { build_always("family=dwta,K=11"); });
  expect_error<InvalidArgument>("option 'K' must be within [0, 30], got 31",
                                [] { build_always("K=31"); });
}

TEST(HashingOptions, TablesThatCannotFit) {
  expect_error<InvalidArgument>(
      "engine 'hashing': L=50 tables of 268435456 buckets for 200 units take 53.7 GB, at most 8.0 "
      "are used; a smaller range, fewer pieces (K) or tables (L) take less",
      [] { build_always("K=28,L=50"); });
  expect_error<InvalidArgument>(
      "engine 'hashing': L=4096 tables of 16 buckets for 1000000 units take 32.8 GB, at most 8.0 "
      "are used; a smaller range, fewer pieces (K) or tables (L) take less",
      [] { build_always("K=4,L=4096", {.units = 1'000'000}); });
  EXPECT_NO_THROW(build_always("K=28,L=50,range=262144"));
}

TEST(HashingOptions, MoreProbesThanPieces) {
  expect_error<InvalidArgument>(
      "engine 'hashing': probes=6, but codes of K=4 pieces have 5 that differ in one at most",
      [] { build_always("K=4,probes=6"); });
  EXPECT_NO_THROW(build_always("K=4,probes=5"));
}

TEST(HashingOptions, ValuesOutOfRange) {
  for (const auto& [option, message] : std::vector<std::pair<std::string, std::string>>{
           {"L=0", "option 'L' must be within [1, 4096], got 0"},
           {"bucket=0", "option 'bucket' must be within [1, 1000000000], got 0"},
           {"share=1.5", "option 'share' must be within [0, 1], got 1.5"},
           {"drift=-1", "option 'drift' must be within [0, 1], got -1"},
           {"rehash_growth=0.5", "option 'rehash_growth' must be within [1, 10], got 0.5"},
           {"family=md5",
            "option 'family' must be one of simhash, wta, dwta, minhash, got 'md5'"}}) {
    expect_error<InvalidArgument>(message, [&] { build_always(option); });
  }
}

TEST(HashingOptions, OnlyWideLayersAreHashed) {
  const Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {3});
  const Var y = call(graph, [&] { return Vars{sum(exp(x))}; }, {"hashing"})[0];
  try {
    grad(y, x);
    ADD_FAILURE() << "a call was hashed";
  } catch (const NotSupported& error) {
    EXPECT_NE(std::string_view(error.what())
                  .find("it hashes the layers of nn::wide_mlp and nn::wide_losses, nothing else"),
              std::string_view::npos)
        << error.what();
  }
}

// What the engine chooses by itself: nothing where tables cost more than they save.
TEST(HashingOptions, SmallLayersStayDense) {
  EXPECT_TRUE(build("hashing", {.units = 10}).starts_with("dense: 10 units take about "))
      << build("hashing", {.units = 10});
  const std::string large =
      build("hashing:L=8,share=0.01,drawn=0.25", {.units = 200'000, .features = 128});
  EXPECT_TRUE(large.starts_with("hashed: 2000 of 200000 units for each example, 500 of them drawn"))
      << large;
  EXPECT_TRUE(build_always("share=0.5", {.units = 10}).starts_with("hashed: 5 of 10 units"));
}

// A layer that stays dense is the layer that it was: no states, the same bits.
TEST(HashingOptions, DenseIsAsWithoutTheEngine) {
  const auto losses = [](const EngineChoice& engine) {
    Session session({.seed = 3});
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {4, 6});
    const nn::LabelSets truth{
        .labels = constant(graph, Tensor::of<std::int64_t>({4}, {1, 0, 4, 2})),
        .row_starts = iota(graph, i64, 5)};
    const Var value = nn::wide_losses(x, {5}, truth, {.name = "out", .engine = engine});
    const Executable run = session.compile({value, grad(mean(value), x)});
    const Results results = run({{"x", Tensor::full(f32, {4, 6}, 0.7)}});
    EXPECT_EQ(session.states().names("out").size(), 2U);
    std::vector<float> all = results[0].to_vector<float>();
    const std::vector<float> slope = results[1].to_vector<float>();
    all.insert(all.end(), slope.begin(), slope.end());
    return all;
  };
  EXPECT_EQ(losses("hashing"), losses("backprop"));
}

TEST(HashingOptions, ARangeFoldsWhatIsLonger) {
  const auto has = [](const std::string& options, const std::string& tables) {
    const std::string said = build_always(options);
    EXPECT_NE(said.find(tables), std::string::npos) << said;
  };
  has("K=6,L=4", "4 tables of 64 buckets");
  has("K=6,L=4,range=40", "4 tables of 40 buckets");
  has("K=6,L=4,range=1000", "4 tables of 64 buckets");
}

TEST(HashingOptions, PiecesFollowFromTheNumberOfUnits) {
  const auto buckets = [](std::int64_t units) {
    const std::string said = build_always("L=4", {.units = units});
    const std::size_t at = said.find("tables of ") + std::string_view("tables of ").size();
    return std::stoi(said.substr(at));
  };
  EXPECT_GE(buckets(10), 2);
  EXPECT_GT(buckets(100'000), buckets(1000));
  EXPECT_LE(buckets(100'000), 100'000);
}

}  // namespace antichain::hashing_tests::hashing_options_test
