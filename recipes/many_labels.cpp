#include "recipes/many_labels.h"

#include <fmt/format.h>

#include "antichain/base/error.h"
#include "antichain/nn/dropout.h"
#include "antichain/nn/linear.h"
#include "antichain/nn/ranking.h"
#include "antichain/nn/sampled_softmax.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/reports.h"

namespace antichain {

namespace {

constexpr const char* kScope = "out";
constexpr std::int64_t kRanked[] = {1, 3, 5};

// A label that no training point has is drawn now and then, too.
std::vector<double> drawing_weights(const std::vector<std::int64_t>& frequencies) {
  std::vector<double> weights;
  for (const std::int64_t count : frequencies) {
    weights.push_back(static_cast<double>(count) + 1);
  }
  return weights;
}

nn::Negatives draw_negatives(const ModelContext& context, const LabelFacts& labels) {
  const std::int64_t count = context.settings.integer("negatives");
  return context.settings.text("sampler") == "uniform"
             ? nn::draw_uniformly(context.graph, labels.count, count)
             : nn::draw_by_weight(context.graph, drawing_weights(labels.frequencies), count);
}

Var low_rank_logits(const ModelContext& context, Var x, std::int64_t labels) {
  const ScopeGuard scope(context.graph, kScope);
  const nn::Initialiser weight = nn::normal(0, 0.1);  // a product of two: as large as the others'
  const Var narrow = nn::linear(x, context.settings.integer("rank"),
                                {.name = "u", .bias = false, .weight = weight});
  return nn::linear(narrow, labels, {.name = "v", .weight = weight});
}

// Of the labels, those of an example and those that are drawn; some of them twice.
Var sampled_share(const ModelContext& context, Var x, const nn::LabelSets& truth,
                  std::int64_t labels) {
  const auto size = [&](Dim dim) { return cast(dim_value(context.graph, dim), f64); };
  const Var own = size(truth.labels.dim(0)) / maximum(size(x.dim(0)), 1);
  const auto drawn = static_cast<double>(context.settings.integer("negatives"));
  return minimum((own + drawn) / static_cast<double>(labels), 1);
}

Var training_losses(const ModelContext& context, Var x, const nn::LabelSets& truth,
                    const LabelFacts& labels) {
  const std::string& output = context.settings.text("output");
  if (output == "low-rank") {
    return nn::multi_label_softmax(low_rank_logits(context, x, labels.count), truth);
  }
  if (output == "sampled") {
    const ScopeGuard scope(context.graph, kScope);
    const Var losses = nn::sampled_softmax(x, labels.count, truth, draw_negatives(context, labels),
                                           {.name = "0"});  // as wide_mlp names its only layer
    return with_report(losses, "active_share", sampled_share(context, x, truth, labels.count));
  }
  return nn::wide_losses(x, {labels.count}, truth, {.name = kScope});
}

Var all_logits(const ModelContext& context, Var x, const LabelFacts& labels) {
  return context.settings.text("output") == "low-rank"
             ? low_rank_logits(context, x, labels.count)
             : nn::wide_mlp(x, {labels.count}, {.name = kScope, .training = false});
}

}  // namespace

OptionSpec output_option(const std::vector<std::string>& choices, const std::string& doc) {
  return {.name = "output",
          .kind = OptionKind::choice,
          .fallback = "dense",
          .doc = doc,
          .choices = choices};
}

void settle_output(Settings& settings, const std::string& hashed) {
  const std::string& output = settings.text("output");
  if (output == "hashed") {
    settings.set_fallback("engine", hashed);
    return;
  }
  const bool is_wide = output != "sampled" && output != "low-rank";
  for (const EnginePlan::Part& part : EnginePlan::parse(settings.text("engine")).parts()) {
    require(is_wide || part.engine.name() != "hashing",
            "output={} is a layer that the engine hashing does not compute; leave one of them out",
            output);
  }
}

Var with_active_units(const ModelContext& context, Var x, double active) {
  const std::string& output = context.settings.text("output");
  if (!output.ends_with("dropout")) {
    return x;
  }
  const Var kept = output == "dropout"
                       ? nn::dropout(x, {.rate = 1 - active, .training = context.training})
                       : nn::adaptive_dropout(x, {.share = active, .training = context.training});
  return context.training ? with_report(kept, "active_share", mean(cast(not_equal(kept, 0), f32)))
                          : kept;
}

std::vector<OptionSpec> label_options() {
  return {
      output_option({"dense", "sampled", "adaptive-dropout", "dropout", "low-rank", "hashed"},
                    "how the output layer is trained: all labels (dense), the true ones and some "
                    "that are drawn (sampled), those that the engine hashing finds (hashed), as a "
                    "product of two narrow layers (low-rank), or all behind a hidden layer of "
                    "which some units are switched off"),
      {"active", kNumber, "0.5", "part of the hidden units kept by dropout and adaptive-dropout",
       0.01, 1},
      {"negatives", kInteger, "2000", "labels drawn per step for output=sampled", 1, 1e7},
      {.name = "sampler",
       .kind = OptionKind::choice,
       .fallback = "uniform",
       .doc = "with which probabilities they are drawn",
       .choices = {"uniform", "frequency"}},
      {"rank", kInteger, "32", "width of the narrow layer for output=low-rank", 1, 65536},
      {"propensity_a", kNumber, "0.55", "of the propensities that PSP@k is measured with", 1e-3,
       10},
      {"propensity_b", kNumber, "1.5", "likewise; 0.6 and 2.6 for sets from Amazon", 1e-3, 1e3},
  };
}

Objective build_output(const ModelContext& context, Var x, const nn::LabelSets& truth,
                       const LabelFacts& labels) {
  x = with_active_units(context, x, context.settings.number("active"));
  if (context.training) {
    return {.losses = training_losses(context, x, truth, labels)};
  }
  const Var logits = all_logits(context, x, labels);
  const std::int64_t most = std::min(labels.count, kRanked[std::size(kRanked) - 1]);
  const nn::Ranking ranking = nn::rank_labels(logits, truth, most);
  const std::vector<float> scores(labels.inverse_propensities.begin(),
                                  labels.inverse_propensities.end());
  const Var weights = constant(context.graph, Tensor::of<float>({labels.count}, scores));
  Objective objective{.losses = nn::multi_label_softmax(logits, truth),
                      .hits = nn::precision_at(ranking, 1)};
  for (const std::int64_t k : kRanked) {
    if (k > most) {
      break;
    }
    objective.metrics.push_back({fmt::format("precision_at_{}", k), nn::precision_at(ranking, k)});
    const auto [reached, all] = nn::scored_precision_at(ranking, truth, weights, k);
    objective.metrics.push_back({fmt::format("propensity_precision_at_{}", k), reached, all});
  }
  return objective;
}

}  // namespace antichain
