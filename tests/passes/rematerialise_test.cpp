#include "antichain/passes/memory/rematerialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "antichain/antichain.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/passes/pipeline.h"
#include "tests/conformance/not_owned.h"

namespace antichain::rematerialise_test {

using Model = std::function<Var(Graph&)>;  // builds the loss

class Counter final : public RunObserver {
 public:
  void ran(const OpEvent& event) override { ++counts[event.op.def().name]; }
  std::map<std::string, std::int64_t> counts;
};

struct Trained {
  std::vector<Tensor> values;  // losses of three steps, then all states
  std::size_t memory = 0;
  std::map<std::string, std::int64_t> counts;  // of ops, in the last step
};

Trained train(const Model& model, const Feeds& feeds, const CompileOptions& asked = {}) {
  Session session({.seed = 11});
  Graph graph = session.graph();
  const Var loss = model(graph);
  CompileOptions options = asked;
  options.updates = optim::sgd(loss, {.lr = 0.05});
  const Executable step = session.compile({loss}, options);
  verify(step.graph());
  Trained trained;
  Counter counter;
  for (int i = 0; i < 3; ++i) {
    counter.counts.clear();
    trained.values.push_back(step.run(feeds, {&counter})[0]);
  }
  for (const auto& [name, value] : session.states().all()) {
    trained.values.push_back(value.clone());
  }
  trained.memory = step.memory_bytes();
  trained.counts = counter.counts;
  return trained;
}

std::size_t least_bytes(const Model& model, const Feeds& feeds, CompileOptions options) {
  options.memory_budget = 1;
  try {
    train(model, feeds, options);
  } catch (const InvalidArgument& error) {
    const std::string what = error.what();
    EXPECT_THAT(what, testing::StartsWith("memory_budget: nothing fits into 1 B; the least"));
    return std::stoul(what.substr(what.rfind('(') + 1));
  }
  ADD_FAILURE() << "a byte was enough";
  return 0;
}

std::int64_t times(const Trained& trained, const std::string& op) {
  const auto found = trained.counts.find(op);
  return found == trained.counts.end() ? 0 : found->second;
}

// Trains at budgets between the least that is possible and what keeping everything takes.
void check_budgets(const Model& model, const Feeds& feeds, const CompileOptions& options,
                   double least_part) {
  const Trained plain = train(model, feeds, options);
  const std::size_t least = least_bytes(model, feeds, options);
  EXPECT_LT(static_cast<double>(least), least_part * static_cast<double>(plain.memory));
  for (const double part : {0.0, 0.2, 0.5, 0.8}) {
    CompileOptions limited = options;
    limited.memory_budget =
        least + static_cast<std::size_t>(part * static_cast<double>(plain.memory - least));
    const Trained fitted = train(model, feeds, limited);
    EXPECT_LE(fitted.memory, *limited.memory_budget);
    ASSERT_EQ(fitted.values.size(), plain.values.size());
    for (std::size_t i = 0; i < plain.values.size(); ++i) {
      EXPECT_TRUE(bit_equal(fitted.values[i], plain.values[i]))
          << "value " << i << " within " << *limited.memory_budget << " bytes";
    }
    std::int64_t more = 0;
    for (const auto& [name, count] : fitted.counts) {
      more += count - times(plain, name);
    }
    EXPECT_GT(more, 0) << "nothing was computed again";
    for (const std::string effect : {"assign", "add_update", "state_read"}) {
      EXPECT_EQ(times(fitted, effect), times(plain, effect));
    }
  }
}

Tensor waves(DType dtype, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    values.push_back(std::sin(0.37 * static_cast<double>(i)));
  }
  return Tensor::of(shape, values).cast(dtype);
}

TEST(Rematerialise, Perceptron) {
  const Model model = [](Graph& graph) {
    const Var x = graph.input("x", f32, {"batch", 16});
    const Var y = graph.input("y", i64, {"batch"});
    return mean(
        cross_entropy(nn::mlp(x, {24, 24, 24, 24, 24, 24, 24, 5}, {.activation = tanh}), y));
  };
  check_budgets(model, {{"x", waves(f32, {200, 16})}, {"y", Tensor::zeros(i64, {200})}},
                {.plan_sizes = {{"batch", 200}}}, 0.8);
}

TEST(Rematerialise, ConvolutionsWithBatchNormAndDropout) {
  const Model model = [](Graph& graph) {
    Var x = graph.input("x", f32, {6, 3, 8, 8});
    for (int i = 0; i < 5; ++i) {
      const std::string number = std::to_string(i);
      x = nn::conv2d(x, 5, {3, 3}, {.name = "conv" + number, .padding = {1, 1}});
      x = relu(nn::batch_norm(x, {.name = "norm" + number, .training = true}));
      x = nn::dropout(x, {.rate = 0.2, .training = true});
    }
    return mean(square(nn::linear(nn::global_avg_pool(x), 2)));
  };
  check_budgets(model, {{"x", waves(f32, {6, 3, 8, 8})}}, {}, 0.7);
}

TEST(Rematerialise, TransformerBlocks) {
  const Model model = [](Graph& graph) {
    Var x = graph.input("x", f32, {2, 10, 8});
    for (int i = 0; i < 4; ++i) {
      x = nn::transformer_block(x, {.name = "block" + std::to_string(i),
                                    .heads = 2,
                                    .causal = true,
                                    .dropout = 0.1,
                                    .training = true});
    }
    return mean(square(x));
  };
  check_budgets(model, {{"x", waves(f32, {2, 10, 8})}}, {}, 0.7);
}

// A chain within stages that run again: both ways of computing values anew at once.
TEST(Rematerialise, ChainsAndStagesTogether) {
  const Model model = [](Graph& graph) {
    Var x = graph.input("x", f32, {40, 10});
    const Var w = parameter("w", random_normal(graph, f32, {10}));
    const auto wide = [&](Var value) {
      for (int i = 0; i < 10; ++i) {
        value = sin(value * w);
      }
      return value;
    };
    const Var middle =
        chain({wide(x)}, {},
              [&](Var, const Vars& s, const Vars&) -> StepResult { return {{tanh(s[0] * w)}}; },
              {.length = 12})
            .last[0];
    return mean(square(wide(middle)));
  };
  check_budgets(model, {{"x", waves(f32, {40, 10})}}, {}, 0.5);
}

double one_second(Op) { return 1; }

TEST(Rematerialise, RecomputedOpsAreOpsOfTheirOwn) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {64});
  Var y = x;
  for (int i = 0; i < 30; ++i) {
    y = sin(y);
  }
  const Var loss = sum(y);
  const GraphCopy program =
      run_passes(graph, std::vector<Var>{loss, grad(loss, x)}, {}, {.level = 1});
  const StagedProgram stages = split_into_stages(program, {}, one_second, 6);
  ASSERT_EQ(stages.costs.size(), 6U);
  for (const StageCost& stage : stages.costs) {
    EXPECT_LE(stage.output, 64 * sizeof(float));  // the cuts are as narrow as can be
    EXPECT_GT(stage.kept, 0U);
    EXPECT_GT(stage.forward, 0);
    EXPECT_GT(stage.backward, 0);
  }
  const Rotor rotor(stages.costs);
  GraphCopy copy = rematerialise(program, stages, rotor.schedule(rotor.least_level()));
  verify(*copy.graph);
  const Executable run(std::move(copy.graph), copy.values, {}, not_owned(session.backend()),
                       session.backend().kernels(), session.logger(), not_owned(session.states()));
  Counter counter;
  run.run({{"x", waves(f32, {64})}}, {&counter});
  EXPECT_GT(counter.counts.at("sin"), 45);
}

TEST(Rematerialise, WithoutAWayBackThereIsNothingToDo) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {1000});
  EXPECT_THROW(session.compile({cumsum(sin(cos(x)) * x, 0)}, {.memory_budget = 10}),
               InvalidArgument);
  const GraphCopy program = run_passes(graph, std::vector<Var>{sum(sin(x))}, {}, {.level = 1});
  EXPECT_TRUE(split_into_stages(program, {}, one_second).costs.empty());
}

TEST(Rematerialise, PlansTenThousandOps) {
  const std::int64_t size = 256;
  const Model model = [&](Graph& graph) {
    Var x = graph.input("x", f32, {size}) * parameter("w", full(graph, f32, {size}, 1.001));
    for (int i = 0; i < 5000; ++i) {
      x = sin(x * 1.001);
    }
    return mean(x);
  };
  const Feeds feeds = {{"x", waves(f32, {size})}};
  const CompilerOptions one_by_one{.level = 1};  // so that ops can be counted
  const Trained plain = train(model, feeds, {.compiler = one_by_one});
  EXPECT_GT(plain.memory, 5000 * size * sizeof(float));
  const std::size_t budget = plain.memory / 16;
  const Trained fitted = train(model, feeds, {.compiler = one_by_one, .memory_budget = budget});
  EXPECT_LE(fitted.memory, budget);
  EXPECT_TRUE(bit_equal(fitted.values[0], plain.values[0]));
  EXPECT_TRUE(bit_equal(fitted.values[3], plain.values[3]));
  EXPECT_LE(fitted.counts.at("sin"), 2 * 5000);  // at a sixteenth, twice is enough
}

}  // namespace antichain::rematerialise_test
