// Neurons that fire or do not: their slope is 0 or does not exist, so back-propagation has nothing
// to go by. The engine `likelihood` needs values alone: noise on what the neurons sum up makes the
// mean loss smooth, and its gradient is an average over noisy runs. The noise of each neuron is
// learned, too.
#include <antichain/antichain.h>
#include <fmt/core.h>

namespace ac = antichain;

namespace {

constexpr std::int64_t kHidden = 32, kArms = 2, kSteps = 200;

// A layer whose outputs are 0 or 1.
ac::Var firing(ac::Var x, const std::string& name) {
  ac::Var sums = ac::nn::linear(x, kHidden, {.name = name});
  const ac::ScopeGuard scope(x.graph(), name);
  const ac::Var log_sigma =
      ac::parameter("log_sigma", ac::full(x.graph(), ac::f32, {kHidden}, -1.5));
  sums = ac::noise_site(sums, log_sigma);
  return ac::cast(ac::greater(sums, 0), ac::f32);
}

double accuracy_of(const std::string& engine) {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  graph.choose_engines(ac::EnginePlan::parse(engine));
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var logits =
      ac::nn::linear(firing(firing(x, "first"), "second"), kArms, {.name = "out"});
  const ac::Var losses = ac::nn::cross_entropy(logits, y), loss = ac::mean(losses);
  const ac::Executable train = session.compile(
      {loss, ac::mean(ac::cast(ac::nn::is_correct(logits, y), ac::f32))},
      {.updates = ac::optim::adam(loss, {.lr = 0.03, .step = {.gradient_at = {losses}}})});

  const auto points = ac::data::spirals({.arms = kArms, .points = 400, .seed = 1});
  const ac::data::Batch batch = ac::data::take_all(*points);
  double accuracy = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const ac::Results results = train(batch);
    accuracy = results[1].item<double>();
    if (step % 50 == 0) {
      fmt::print("step {:>3}  loss {:.3f}  accuracy {:.2f}\n", step, results.item<double>(),
                 accuracy);
    }
  }
  return accuracy;
}

}  // namespace

int main() {
  try {
    accuracy_of("backprop");
    return 1;
  } catch (const ac::Error& error) {
    fmt::print("{}\n", error.what());
  }
  return accuracy_of("likelihood:mode=layer,noise=laplace,copies=32") > 0.9 ? 0 : 1;
}
