#include "tests/conformance/engine_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"

namespace antichain::conformance {

namespace {

std::vector<Tensor> model_inputs(const EngineModel& model) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<Tensor> values;
  for (const Shape& shape : model.inputs) {
    std::vector<double> elements(static_cast<std::size_t>(numel(shape)));
    for (double& element : elements) {
      element = draw(generator);
    }
    values.push_back(Tensor::of<double>(shape, elements));
  }
  return values;
}

// The refusal of the first region op that names an engine.
Support support_of(Graph& graph, const GradientEngine& engine) {
  for (OpId id : graph.region(kRootRegion).ops) {
    const Op op = graph.op(id);
    if (!op.regions().empty()) {
      return engine.supports(op,
                             std::vector<bool>(static_cast<std::size_t>(op.num_inputs()), true));
    }
  }
  return {};
}

// A model differentiated by one engine; runs as often as asked for.
class Differentiated {
 public:
  Differentiated(const EngineModel& model, std::unique_ptr<GradientEngine> engine)
      : values_(model_inputs(model)) {
    const std::string name = engine ? std::string(engine->name()) : std::string();
    const GradientEngine* tried = engine.get();
    auto engines = std::make_shared<EngineSet>();
    if (engine) {
      engines->add(std::move(engine));
    }
    graph_ = std::make_unique<Graph>(engines);
    std::vector<Var> inputs;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Shape& shape = values_[i].shape();
      inputs.push_back(graph_->input("in" + std::to_string(i), f64, {shape.begin(), shape.end()}));
    }
    const Var loss = model.loss(*graph_, inputs, name);
    support_ = tried ? support_of(*graph_, *tried) : Support{};
    if (support_.yes) {
      run_ = std::make_unique<Executable>(session_.compile(grad(loss, inputs)));
    }
  }

  const Support& support() const { return support_; }
  std::vector<Tensor> gradients() const {
    Feeds feeds;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      feeds["in" + std::to_string(i)] = values_[i];
    }
    return (*run_)(feeds).tensors();
  }

 private:
  Session session_;
  std::vector<Tensor> values_;
  std::unique_ptr<Graph> graph_;
  Support support_;
  std::unique_ptr<Executable> run_;
};

// All gradients in one row.
std::vector<double> flat(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) {
    const std::vector<double> values = tensor.to_vector<double>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

double relative_error(const std::vector<double>& got, const std::vector<double>& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

// Calls `check` with every model that the engine supports; refusals are logged.
void for_each_supported(
    const MakeEngine& make, CaseLog& log,
    const std::function<void(const EngineModel&, const std::vector<double>& exact)>& check) {
  for (const EngineModel& model : engine_models()) {
    SCOPED_TRACE("model '" + model.name + "'");
    const std::string name(make(1)->name());
    const Differentiated tried(model, make(1));
    if (!tried.support().yes) {
      log.refused("engine " + name, model.name, tried.support().reason);
      continue;
    }
    check(model, flat(Differentiated(model, nullptr).gradients()));
    log.ran("engine " + name);
  }
}

}  // namespace

void check_exact(const MakeEngine& make, CaseLog& log) {
  constexpr double kRounding = 1e-12;
  for_each_supported(make, log, [&](const EngineModel& model, const std::vector<double>& exact) {
    EXPECT_LT(relative_error(flat(Differentiated(model, make(1)).gradients()), exact), kRounding);
  });
}

void check_iterative(const MakeEngine& make, int max_effort, double tolerance, CaseLog& log) {
  for_each_supported(make, log, [&](const EngineModel& model, const std::vector<double>& exact) {
    double last = INFINITY;
    for (int effort = 1; effort <= max_effort && last > tolerance; ++effort) {
      const double error =
          relative_error(flat(Differentiated(model, make(effort)).gradients()), exact);
      EXPECT_LT(error, last) << "more cycles, more error: " << effort;
      last = error;
    }
    EXPECT_LE(last, tolerance);
  });
}

void check_unbiased(const MakeEngine& make, int runs, CaseLog& log) {
  constexpr double kStandardErrors = 5;
  for_each_supported(make, log, [&](const EngineModel& model, const std::vector<double>& exact) {
    double variances[2];
    for (const int effort : {1, 4}) {
      const Differentiated tried(model, make(effort));
      std::vector<double> sum(exact.size()), squares(exact.size());
      for (int run = 0; run < runs; ++run) {
        const std::vector<double> got = flat(tried.gradients());
        for (std::size_t i = 0; i < got.size(); ++i) {
          sum[i] += got[i];
          squares[i] += got[i] * got[i];
        }
      }
      double total_variance = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double mean = sum[i] / runs;
        const double variance = std::max(squares[i] / runs - mean * mean, 0.0);
        EXPECT_NEAR(mean, exact[i], kStandardErrors * std::sqrt(variance / runs) + 1e-12)
            << "element " << i;
        total_variance += variance;
      }
      variances[effort == 4] = total_variance;
    }
    EXPECT_NEAR(variances[0] / variances[1], 4, 1.2) << "the variance must fall as 1 / copies";
  });
}

}  // namespace antichain::conformance
