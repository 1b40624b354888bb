// What counts is how many answers are wrong. That has no gradient, so one usually trains on another
// loss that has. With noise on the outputs the mean number of wrong answers is smooth, and the
// engine `likelihood` trains on it directly: outliers, which cost cross-entropy as much as it takes
// to turn the classifier, cost one wrong answer each here.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <cmath>
#include <random>

namespace ac = antichain;

namespace {

constexpr std::int64_t kPoints = 400, kOutliers = 40;

// Two classes left and right of a line, and outliers of the left one far on the right.
ac::Feeds points() {
  std::mt19937 generator(3);
  std::normal_distribution<float> draw(0, 0.5F);
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const bool is_outlier = i < kOutliers;
    const std::int64_t label = is_outlier ? 0 : i % 2;
    const float centre = is_outlier ? 6.0F : (label == 1 ? 1.0F : -1.0F);
    x.insert(x.end(), {centre + draw(generator), draw(generator)});
    y.push_back(label);
  }
  return {{"x", ac::Tensor::of<float>({kPoints, 2}, x)},
          {"y", ac::Tensor::of<std::int64_t>({kPoints}, y)}};
}

double wrong_after_training(bool on_wrong_answers) {
  ac::Session session({.seed = 2});
  ac::Graph graph = session.graph();
  graph.choose_engines(ac::EnginePlan::parse(
      on_wrong_answers ? "likelihood:noise=gaussian,sigma=1,copies=64" : "backprop"));
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var logits = ac::nn::linear(x, 2, {.name = "out"});
  const ac::Var wrong = ac::cast(ac::nn::zero_one(logits, y), ac::f32);
  const ac::Var losses = on_wrong_answers ? wrong : ac::nn::cross_entropy(logits, y);
  const ac::Var loss = ac::mean(losses);
  const ac::Executable train = session.compile(
      {ac::mean(wrong)},
      {.updates = ac::optim::adam(loss, {.lr = 0.05, .step = {.gradient_at = {losses}}})});
  const ac::Feeds all = points();
  double share = 1;
  for (int step = 0; step < 400; ++step) {
    share = train(all).item<double>();
  }
  return share;
}

}  // namespace

int main() {
  const double by_loss = wrong_after_training(false), directly = wrong_after_training(true);
  const double outliers = static_cast<double>(kOutliers) / static_cast<double>(kPoints);
  fmt::print(
      "wrong after training on cross-entropy {:.1f} %, on wrong answers {:.1f} %; outliers "
      "{:.1f} %\n",
      100 * by_loss, 100 * directly, 100 * outliers);
  return directly < outliers + 0.05 && directly < by_loss ? 0 : 1;
}
