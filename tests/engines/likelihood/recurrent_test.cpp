// Layers with states.
#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/autodiff/outline.h"
#include "antichain/engines/likelihood/site_choice.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/graph/state_store.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

constexpr std::int64_t kSteps = 6, kWords = 20, kExamples = 8;

Var sequence_losses(Graph& graph) {
  const Var words = graph.input("words", i64, {kSteps, "n"});
  const Var xs = nn::embedding(words, kWords, 4, {.name = "words"});
  const Var last = index(nn::gru(xs, 5, {.name = "gru"}).all, 0, kSteps - 1);
  return nn::cross_entropy(nn::linear(last, 3, {.name = "out"}), graph.input("y", i64, {"n"}));
}

Feeds sequence_feeds() {
  std::vector<std::int64_t> words, labels;
  for (std::int64_t i = 0; i < kSteps * kExamples; ++i) {
    words.push_back(i * i % kWords);
  }
  for (std::int64_t i = 0; i < kExamples; ++i) {
    labels.push_back(i % 3);
  }
  return {{"words", Tensor::of<std::int64_t>({kSteps, kExamples}, words)},
          {"y", Tensor::of<std::int64_t>({kExamples}, labels)}};
}

TEST(LikelihoodRecurrent, CosinesAreReported) {
  Session session({.seed = 2});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("likelihood:mode=layer,copies=256,watch=1"));
  const Var losses = sequence_losses(graph);
  const Executable run = session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
  run(sequence_feeds());
  int found = 0;
  for (const std::string& name : session.states().names(kReportPrefix)) {
    if (name.find("cosine/gru") != std::string::npos) {
      EXPECT_GT(session.states().get(name).item<double>(), 0.8) << name;
      ++found;
    }
  }
  EXPECT_EQ(found, 4) << "weights and biases of input and state";
}

TEST(LikelihoodRecurrent, DirectionsToo) {
  Session session({.seed = 2});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("likelihood:mode=forward,copies=4,watch=1"));
  const Var losses = sequence_losses(graph);
  EXPECT_NO_THROW(
      session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}))(sequence_feeds()));
}

std::vector<likelihood::SiteGroup> groups_of(const std::string& options,
                                             std::vector<std::string>& names) {
  Session session;
  Graph graph = session.graph();
  const Var losses = sequence_losses(graph);
  const Op region = outline({losses}, parameters(graph), EngineChoice("likelihood"));
  std::vector<bool> learned(static_cast<std::size_t>(region.num_inputs()));
  std::fill_n(learned.begin(), parameters(graph).size(), true);
  const std::vector<likelihood::Site> sites = likelihood::find_sites(region, learned);
  for (const likelihood::Site& site : sites) {
    names.push_back(site.name);
  }
  Settings settings("engine 'likelihood'", "", likelihood::option_specs());
  const EngineChoice choice("likelihood:" + options);
  for (const EngineOption& option : choice.options()) {
    settings.set(option.name, option.value);
  }
  return likelihood::choose_groups(region, sites, likelihood::read_options(settings));
}

// Noise at the state costs a run of the chain, as noise at its input does.
TEST(LikelihoodRecurrent, CopiesOfInputAndStateByCost) {
  std::vector<std::string> names;
  const auto groups = groups_of("mode=layer,copies=32,allocation=cost", names);
  EXPECT_EQ(names, (std::vector<std::string>{"gru.input", "gru.state", "out"}));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_NEAR(static_cast<double>(groups[0].copies), static_cast<double>(groups[1].copies), 8);
}

TEST(LikelihoodRecurrent, CutsByName) {
  std::vector<std::string> names;
  EXPECT_EQ(groups_of("cut=gru", names).size(), 2U);
  EXPECT_EQ(groups_of("cut=gru.state", names).size(), 1U);
}

}  // namespace antichain::likelihood_tests
