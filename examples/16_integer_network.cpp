// A network that computes with integers alone, as a small device would: inputs, weights and hidden
// values are whole numbers, and what is trained are the numbers that the weights are rounded from.
// Rounding has a slope of 0. The engine `likelihood` puts noise in front of the rounding of hidden
// values and needs no slope there; the weights get theirs as if they were not rounded.
#include <antichain/antichain.h>
#include <fmt/core.h>

namespace ac = antichain;

namespace {

constexpr std::int64_t kInputs = 2, kHidden = 32, kArms = 2, kSteps = 200;
constexpr double kUnit = 1.0 / 16;  // what an integer counts

// The nearest multiples of the unit, with the slope of what they were rounded from.
ac::Var rounded_weight(ac::Var weight) {
  return weight + ac::stop_gradient(kUnit * ac::round(weight * (1 / kUnit)) - weight);
}

ac::Var layer(ac::Var x, std::int64_t width, const std::string& name) {
  const ac::ScopeGuard scope(x.graph(), name);
  const std::int64_t inputs = x.dim(1).constant();
  const ac::Var weight =
      ac::parameter("weight", ac::nn::he_normal(x.graph(), ac::f32, {inputs, width}));
  const ac::Var bias = ac::parameter("bias", ac::zeros(x.graph(), ac::f32, {width}));
  return ac::matmul(x, rounded_weight(weight)) + rounded_weight(bias);
}

// Hidden values are 0, 1, …, 15 units: four bits.
ac::Var four_bits(ac::Var sums) {
  return kUnit * ac::minimum(ac::maximum(ac::round(sums * 4), 0), 15);
}

}  // namespace

int main() {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  graph.choose_engines(ac::EnginePlan::parse("likelihood:mode=layer,noise=laplace,sigma=0.2"));
  const ac::Var x = graph.input("x", ac::f32, {"batch", kInputs});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var hidden = four_bits(layer(four_bits(layer(x, kHidden, "first")), kHidden, "second"));
  const ac::Var logits = layer(hidden, kArms, "out");
  const ac::Var losses = ac::nn::cross_entropy(logits, y), loss = ac::mean(losses);
  const ac::Executable train = session.compile(
      {loss, ac::mean(ac::cast(ac::nn::is_correct(logits, y), ac::f32)), hidden},
      {.updates = ac::optim::adam(loss, {.lr = 0.02, .step = {.gradient_at = {losses}}})});

  const ac::data::Batch batch =
      ac::data::take_all(*ac::data::spirals({.arms = kArms, .points = 400, .seed = 1}));
  double accuracy = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const ac::Results results = train(batch);
    accuracy = results[1].item<double>();
    if (step % 50 == 0) {
      fmt::print("step {:>3}  loss {:.3f}  accuracy {:.2f}\n", step, results.item<double>(),
                 accuracy);
    }
    for (const float value : results[2].to_vector<float>()) {
      const double units = value / kUnit;
      if (units != static_cast<int>(units) || units < 0 || units > 15) {
        return 1;
      }
    }
  }
  return accuracy > 0.9 ? 0 : 1;
}
