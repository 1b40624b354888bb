// Holds every engine of a session to its guarantee, and shows that the checks catch an engine that
// breaks it.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/walk.h"
#include "antichain/engines/backprop/backprop_engine.h"
#include "antichain/engines/forward/forward_engine.h"
#include "antichain/engines/hashing/hashing_engine.h"
#include "antichain/engines/likelihood/likelihood_engine.h"
#include "antichain/engines/multigrid/multigrid_engine.h"
#include "antichain/engines/scan/scan_engine.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/wide/wide_layers.h"
#include "antichain/session/session.h"
#include "tests/conformance/engine_checks.h"

namespace antichain::conformance::engine_conformance_test {

// An engine made of a function, for engines that exist only here.
class TestEngine final : public GradientEngine {
 public:
  using Rule = std::function<std::vector<Var>(VjpContext&)>;
  TestEngine(std::string name, Guarantee guarantee, Rule rule)
      : name_(std::move(name)), guarantee_(guarantee), rule_(std::move(rule)) {}
  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return "for tests"; }
  Guarantee guarantee() const override { return guarantee_; }
  Support supports(Op, const std::vector<bool>&) const override { return {}; }
  std::vector<Var> differentiate(VjpContext& context) const override { return rule_(context); }

 private:
  std::string name_;
  Guarantee guarantee_;
  Rule rule_;
};

std::vector<Var> scaled(std::vector<Var> grads, double factor) {
  for (Var& grad : grads) {
    grad = grad.valid() ? grad * factor : grad;
  }
  return grads;
}

// Right up to a factor that comes closer to 1 with every cycle.
std::unique_ptr<GradientEngine> make_halving(int cycles) {
  return std::make_unique<TestEngine>(
      "halving", Guarantee::iterative, [cycles](VjpContext& context) {
        return scaled(context.op().def().vjp(context), 1 - std::pow(0.5, cycles));
      });
}

// The slope along random directions, spread back over them (Baydin et al. 2022): unbiased, for
// normal directions.
std::unique_ptr<GradientEngine> make_random_directions(int copies, double bias) {
  const auto rule = [copies, bias](VjpContext& context) {
    const Op op = context.op();
    std::vector<Var> total(static_cast<std::size_t>(op.num_inputs()));
    for (int copy = 0; copy < copies; ++copy) {
      std::vector<Var> directions(total.size());
      for (std::size_t i = 0; i < total.size(); ++i) {
        if (context.needs(static_cast<int>(i))) {
          directions[i] =
              random_normal(context.graph(), f64, op.input(static_cast<int>(i)).shape());
        }
      }
      const std::vector<Var> moved = op_jvp(op, directions);
      Var slope = scalar(context.graph(), f64, bias);
      for (int i = 0; i < op.num_outputs(); ++i) {
        if (context.has_grad(i) && moved[static_cast<std::size_t>(i)].valid()) {
          slope = slope + sum(context.grad(i) * moved[static_cast<std::size_t>(i)]);
        }
      }
      for (std::size_t i = 0; i < total.size(); ++i) {
        if (directions[i].valid()) {
          const Var part = slope * directions[i] / copies + bias;
          total[i] = total[i].valid() ? total[i] + part : part;
        }
      }
    }
    return total;
  };
  return std::make_unique<TestEngine>("random-directions", Guarantee::unbiased, rule);
}

enum class Flaw { none, no_correction, not_exact, no_gain };

// Every unit of an output layer is computed with the same probability, and counts for what is left
// out; the simplest engine that is right where it looks.
class DrawnUnits final : public GradientEngine {
 public:
  DrawnUnits(int effort, Flaw flaw) : effort_(effort), flaw_(flaw) {}
  std::string_view name() const override { return "drawn-units"; }
  std::string_view summary() const override { return "for tests"; }
  Guarantee guarantee() const override { return Guarantee::sampled; }
  Support supports(Op op, const std::vector<bool>&) const override {
    return parts_of_wide_layers(op).layers.size() == 1 ? Support{} : Support::no("one layer only");
  }
  bool replaces_forward(const Settings&) const override { return true; }
  std::optional<std::vector<Var>> forward(Op op, const ForwardContext&) const override {
    return std::vector<Var>{losses(op)};
  }
  std::vector<Var> differentiate(VjpContext& context) const override {
    const std::vector<Var> grads = context.walk_back(std::vector<Var>{losses(context.op())},
                                                     context.grads(), context.op().inputs());
    return flaw_ == Flaw::not_exact ? scaled(grads, 1.01) : grads;
  }

 private:
  Var losses(Op op) const {
    const WideLayers parts = parts_of_wide_layers(op);
    const WideLayer& layer = parts.layers[0];
    const Var logits = matmul(parts.x, layer.weight, {.transpose_b = true}) + layer.bias;
    const double units = static_cast<double>(layer.weight.dim(0).constant());
    const double share = effort_ == units || flaw_ != Flaw::no_gain ? effort_ / units : 0.125;
    const Var is_drawn = less(random_uniform(op.graph(), f64, logits.shape()), share);
    const double weight = flaw_ == Flaw::no_correction ? 1 : 1 / share;
    const Var total = sum(select(is_drawn, exp(logits), 0) * weight, {1});
    const Var chosen =
        take_along(gather(logits, examples_of(parts.truth)), expand_dims(parts.truth.labels, 1), 1);
    return label_losses(log(total), squeeze(chosen, 1), parts.truth);
  }

  int effort_;
  Flaw flaw_;
};

// Counts the failures that a check reports, without failing.
int failures_of(const std::function<void(CaseLog&)>& check) {
  testing::TestPartResultArray results;
  const testing::ScopedFakeTestPartResultReporter catcher(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
  CaseLog unused;
  check(unused);
  return results.size();
}

TEST(EngineConformance, EveryEngineOfASessionIsCovered) {
  // A new engine must be added to the tests below: this list is what they cover.
  const Session session;
  for (const auto& engine : session.engines().all()) {
    const std::string name(engine->name());
    EXPECT_TRUE(name == "backprop" || name == "forward" || name == "hashing" ||
                name == "likelihood" || name == "multigrid" || name == "scan")
        << name << " has no conformance test";
    EXPECT_FALSE(engine->summary().empty());
  }
}

TEST(EngineConformance, BackpropIsExact) {
  check_exact([](int) { return make_backprop_engine(); }, printed_log());
}

TEST(EngineConformance, ForwardIsExact) {
  check_exact([](int) { return make_forward_engine(); }, printed_log());
}

TEST(EngineConformance, ScanIsExact) {
  check_exact([](int) { return make_scan_engine(); }, printed_log());
}

// Families and selections, active units of each example and of all: tests/engines/hashing.
TEST(EngineConformance, HashingIsSampled) {
  constexpr int kRuns = 100;
  for (const char* whose : {"example", "batch"}) {
    SCOPED_TRACE(whose);
    check_sampled(
        [&](int effort) {
          std::unique_ptr<GradientEngine> engine = make_hashing_engine();
          engine->set_defaults({{"active", effort}, {"for", whose}, {"when", "always"}});
          return engine;
        },
        kRuns, printed_log());
  }
}

// The losses are of second degree in what gets noise: the gradient of their mean over the noise is
// that without noise. Orthogonal noise has less variance: tests/engines/likelihood.
TEST(EngineConformance, LikelihoodIsUnbiased) {
  constexpr int kRuns = 600;
  using Options = std::vector<EngineOption>;
  for (const Options& options : {
           Options{{"mode", "mixed"}, {"noise", "gaussian"}},
           Options{{"mode", "layer"}, {"noise", "gaussian"}, {"last", "estimated"}},
           Options{{"mode", "full"}, {"noise", "gaussian"}, {"last", "estimated"}},
           Options{{"mode", "layer"}, {"noise", "rademacher"}, {"antithetic", "yes"}},
           Options{{"mode", "layer"}, {"noise", "laplace"}, {"baseline", "none"}},
           Options{{"mode", "forward"}, {"noise", "gaussian"}},
       }) {
    SCOPED_TRACE(EngineChoice("likelihood", options).str());
    check_unbiased(
        [&](int effort) {
          std::unique_ptr<GradientEngine> engine = make_likelihood_engine();
          Options set = options;
          set.emplace_back("copies", 2 * effort);
          engine->set_defaults(set);
          return engine;
        },
        kRuns, printed_log());
  }
}

// Cycles are its effort. Its step is named where a body does not tell it.
std::unique_ptr<GradientEngine> make_multigrid(int cycles, const char* coarse) {
  auto engine = make_multigrid_engine();
  engine->set_defaults(
      {{"when", "always"}, {"coarse", coarse}, {"coarsening", 2}, {"cycles", cycles}});
  return engine;
}

TEST(EngineConformance, MultigridIsIterative) {
  for (const char* coarse : {"auto", "matched", "plain"}) {
    const auto make = [coarse](int cycles) { return make_multigrid(cycles, coarse); };
    check_iterative(make, 8, 1e-12, printed_log());
  }
}

TEST(EngineConformance, IterativeCheckAcceptsAndCatches) {
  check_iterative(make_halving, 30, 1e-6, printed_log());
  // Five cycles are not enough for 1e-6.
  EXPECT_GT(failures_of([](CaseLog& log) { check_iterative(make_halving, 5, 1e-6, log); }), 0);
}

TEST(EngineConformance, UnbiasedCheckAcceptsAndCatches) {
  constexpr int kRuns = 600;
  check_unbiased([](int copies) { return make_random_directions(copies, 0); }, kRuns,
                 printed_log());
  const auto biased = [](int copies) { return make_random_directions(copies, 2); };
  EXPECT_GT(failures_of([&](CaseLog& log) { check_unbiased(biased, kRuns, log); }), 0);
}

TEST(EngineConformance, SampledCheckAcceptsAndCatches) {
  constexpr int kRuns = 100;
  const auto drawing = [](Flaw flaw) {
    return [flaw](int effort) { return std::make_unique<DrawnUnits>(effort, flaw); };
  };
  check_sampled(drawing(Flaw::none), kRuns, printed_log());
  for (const Flaw flaw : {Flaw::no_correction, Flaw::not_exact, Flaw::no_gain}) {
    EXPECT_GT(failures_of([&](CaseLog& log) { check_sampled(drawing(flaw), kRuns, log); }), 0)
        << static_cast<int>(flaw);
  }
}

TEST(EngineConformance, ExactCheckCatches) {
  EXPECT_EQ(failures_of([](CaseLog& log) { check_exact(make_halving, log); }),
            static_cast<int>(engine_models().size()));
}

}  // namespace antichain::conformance::engine_conformance_test
