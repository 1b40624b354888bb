#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/conformance/engine_checks.h"

namespace antichain::conformance {

namespace {

using Numbers = std::vector<double>;

// Losses and gradients of a model, and, where an engine has computed them, its own updates: with
// every run it looks at other units.
class SampledRun {
 public:
  SampledRun(const SampledModel& model, std::unique_ptr<GradientEngine> engine) {
    auto engines = std::make_shared<EngineSet>();
    const std::string name = engine ? std::string(engine->name()) : std::string();
    if (engine) {
      engines->add(std::move(engine));
    }
    Graph graph(engines);
    const Var losses = model.losses(graph, name);
    const Op layers = losses.producer();
    if (!name.empty()) {
      support_ = engines->find(name).supports(
          layers, std::vector<bool>(static_cast<std::size_t>(layers.num_inputs()), true));
    }
    if (!support_.yes) {
      return;
    }
    std::vector<Var> outputs = grad(mean(losses), parameters(graph));
    outputs.insert(outputs.begin(), losses);
    const std::vector<Var> updates =
        name.empty() ? std::vector<Var>() : engines->find(name).updates(layers);
    run_ = std::make_unique<Executable>(session_.compile(outputs, {.updates = updates}));
    if (model.is_output) {
      for (const Var weight : parameters(graph)) {
        if (state_name(weight).ends_with("bias")) {
          const Var chosen = graph.input("chosen", f64, {model.examples});
          bias_run_ =
              std::make_unique<Executable>(session_.compile({grad(sum(losses * chosen), weight)}));
        }
      }
    }
  }

  const Support& support() const { return support_; }
  void run() {
    const std::vector<Tensor> results = (*run_)({}).tensors();
    losses_ = results[0].to_vector<double>();
    gradients_.clear();
    for (std::size_t i = 1; i < results.size(); ++i) {
      const Numbers values = results[i].to_vector<double>();
      gradients_.insert(gradients_.end(), values.begin(), values.end());
    }
  }
  /// Returns the gradient of one loss by the bias: softmax less what is true, of what the next run
  /// looks at.
  Numbers bias_gradient(std::int64_t example) const {
    Numbers chosen(losses_.size());
    chosen[static_cast<std::size_t>(example)] = 1;
    const auto count = static_cast<std::int64_t>(chosen.size());
    return (*bias_run_)({{"chosen", Tensor::of<double>({count}, chosen)}})[0].to_vector<double>();
  }
  const Numbers& losses() const { return losses_; }
  const Numbers& gradients() const { return gradients_; }

 private:
  Session session_;
  Support support_;
  std::unique_ptr<Executable> run_, bias_run_;
  Numbers losses_, gradients_;
};

double relative_distance(const Numbers& got, const Numbers& want) {
  EXPECT_EQ(got.size(), want.size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

double mean_of(const Numbers& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

double squared_standard_error(const Numbers& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) {
    sum += (value - mean) * (value - mean);
  }
  const auto count = static_cast<double>(values.size());
  return sum / (count - 1) / count;
}

// Averages of what an engine does with some effort.
struct SampledMeans {
  double gradient_error = 0;
  Numbers by_example, by_run;  // of exp(loss - exact loss)
};

SampledMeans means_of(SampledRun& tried, const SampledRun& exact, int runs) {
  SampledMeans means;
  means.by_example.resize(exact.losses().size());
  for (int run = 0; run < runs; ++run) {
    tried.run();
    means.gradient_error += relative_distance(tried.gradients(), exact.gradients()) / runs;
    double of_run = 0;
    for (std::size_t i = 0; i < means.by_example.size(); ++i) {
      const double part = std::exp(tried.losses()[i] - exact.losses()[i]);
      means.by_example[i] += part / runs;
      of_run += part / static_cast<double>(means.by_example.size());
    }
    means.by_run.push_back(of_run);
  }
  return means;
}

Numbers softmax_of(const SampledRun& run, std::int64_t example) {
  Numbers softmax = run.bias_gradient(example);
  const std::vector<std::int64_t> labels = sampled_labels(example);
  for (const std::int64_t label : labels) {
    softmax[static_cast<std::size_t>(label)] += 1 / static_cast<double>(labels.size());
  }
  return softmax;
}

// What is known to be active counts once, what is drawn for more: so the former are those whose
// share has grown least.
void check_softmax(const Numbers& tried, const Numbers& exact) {
  constexpr double kSame = 1e-9;
  double least = INFINITY;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    least = tried[i] > kSame ? std::min(least, tried[i] / exact[i]) : least;
  }
  double distance = 0, known = 0, drawn = 0, total = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool is_known = tried[i] > kSame && tried[i] / exact[i] < least * (1 + kSame);
    distance += std::abs(tried[i] - exact[i]);
    known += is_known ? exact[i] : 0;
    drawn += is_known ? 0 : tried[i];
    total += tried[i];
  }
  EXPECT_NEAR(total, 1, kSame);
  EXPECT_LE(distance, 2 * std::max(1 - known, drawn) + kSame);
}

void check_sampled_model(const SampledModel& model, const MakeEngine& make, int runs) {
  constexpr double kRounding = 1e-12, kStandardErrors = 5;
  SampledRun exact(model, nullptr), all(model, make(model.units));
  exact.run();
  all.run();
  EXPECT_LT(relative_distance(all.losses(), exact.losses()), kRounding) << "losses of all units";
  EXPECT_LT(relative_distance(all.gradients(), exact.gradients()), kRounding)
      << "gradients of all units";
  double last = INFINITY;
  for (const int part : {8, 4, 2}) {
    SampledRun tried(model, make(model.units / part));
    const SampledMeans means = means_of(tried, exact, runs);
    EXPECT_LT(means.gradient_error, last) << "more units, more error: 1 / " << part;
    last = means.gradient_error;
    if (model.is_output) {
      // What is drawn differs by run, what it is drawn from by example.
      const double standard_error = std::sqrt(squared_standard_error(means.by_example) +
                                              squared_standard_error(means.by_run));
      EXPECT_NEAR(mean_of(means.by_example), 1, kStandardErrors * standard_error)
          << "the sum of exp with 1 / " << part << " of the units";
      for (std::int64_t example = 0; example + 1 < model.examples; ++example) {
        SCOPED_TRACE("example " + std::to_string(example));
        check_softmax(softmax_of(tried, example), softmax_of(exact, example));
      }
    }
  }
}

}  // namespace

void check_sampled(const MakeEngine& make, int runs, CaseLog& log) {
  for (const SampledModel& model : sampled_models()) {
    SCOPED_TRACE("model '" + model.name + "'");
    const std::string name(make(1)->name());
    const SampledRun tried(model, make(model.units));
    if (!tried.support().yes) {
      log.refused("engine " + name, model.name, tried.support().reason);
      continue;
    }
    check_sampled_model(model, make, runs);
    log.ran("engine " + name);
  }
}

}  // namespace antichain::conformance
