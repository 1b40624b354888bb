#include <gtest/gtest.h>

#include <set>

#include "benchmarks/gpu/gpu_cases.h"

namespace antichain::bench::step_models_test {

TEST(StepModels, NamesDiffer) {
  std::set<std::string> names;
  for (const GpuCase& gpu_case : gpu_cases()) {
    EXPECT_TRUE(names.insert(gpu_case.step.name).second) << gpu_case.step.name;
  }
  EXPECT_FALSE(names.empty());
}

TEST(StepModels, KeepGradientsKeepsThemAndNothingElse) {
  const StepCase step_case{
      .name = "ode", .batch = 2, .model = [](std::int64_t batch) { return ode_net(batch, 3, 4); }};
  const TrainingStep step = step_case.make({});
  const Tensor before = step.session->states().get("residual.weight").clone();
  const float loss = step.executable(step.feeds).item();
  EXPECT_EQ(step.executable(step.feeds).item(), loss);
  EXPECT_TRUE(bit_equal(step.session->states().get("residual.weight"), before));

  const StepModel model = step_case.model(2);
  Graph graph = step.session->graph();
  const Var again = model.loss(graph, f32);
  const std::vector<Var> all = parameters(graph);
  ASSERT_EQ(state_name(all[0]), "residual.weight");
  const Results gradients = step.session->compile({grad(again, all[0])})(model.feeds);
  const Tensor kept = step.session->states().get("residual.weight.gradient");
  EXPECT_EQ(kept.shape(), (Shape{4, 3, 3}));
  const std::vector<double> expected = gradients[0].to_vector<double>();
  const std::vector<double> found = kept.to_vector<double>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-6);
  }
}

// Small ones of every kind: they build, train and lower their loss.
TEST(StepModels, EveryModelTrains) {
  const std::vector<std::pair<std::string, std::function<StepModel(std::int64_t)>>> models = {
      {"mlp",
       [](std::int64_t batch) {
         return mlp(batch, {8, 10}, momentum);
       }},
      {"gru", [](std::int64_t batch) { return gru(3, batch, 4, 5); }},
      {"transformer", [](std::int64_t batch) { return transformer(batch, 3, 8, 2, adam); }},
      {"mobilenet", mobilenet},
      {"gpt",
       [](std::int64_t batch) {
         return gpt(batch, {.steps = 5, .width = 8, .heads = 2, .layers = 2, .vocabulary = 11});
       }},
      {"gcn",
       [](std::int64_t) {
         return gcn({.nodes = 20, .edges = 30, .features = 12, .words = 60, .classes = 3}, 4);
       }},
      {"gradient penalty", gradient_penalty},
      {"towers", [](std::int64_t batch) { return towers(2, 2, 8, batch); }},
      {"gru both ways", [](std::int64_t batch) { return gru_both_ways(3, batch, 4, 5); }},
  };
  for (const auto& [name, model] : models) {
    const StepCase step_case{.name = name, .batch = 4, .model = model};
    const TrainingStep step = step_case.make({});
    const float first = step.executable(step.feeds).item();
    float last = first;
    for (int i = 0; i < 10; ++i) {
      last = step.executable(step.feeds).item();
    }
    EXPECT_LT(last, first) << name;
  }
}

}  // namespace antichain::bench::step_models_test
