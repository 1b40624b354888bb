// Training: a small network learns exclusive or. Twice, with two ways to compute its gradients,
// which are both exact: the losses agree.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <cmath>

namespace ac = antichain;

namespace {

double train(const std::string& engine) {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var label = graph.input("label", ac::i64, {"batch"});

  // Parameters are created and named on the way: "mlp.0.weight", "mlp.0.bias", ...
  const ac::Var logits = ac::nn::mlp(x, {8, 2}, {.activation = ac::tanh});
  const ac::Var loss = ac::mean(ac::cross_entropy(logits, label));
  const auto step = ac::optim::sgd(loss, {.lr = 0.2, .momentum = 0.9, .step = {.engine = engine}});
  const ac::Executable training = session.compile({loss}, {.updates = step});

  const ac::Feeds all_cases = {{"x", ac::Tensor::of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
                               {"label", ac::Tensor::of<std::int64_t>({4}, {0, 1, 1, 0})}};
  double last = 0;
  for (int i = 0; i <= 100; ++i) {
    last = training(all_cases).item<double>();
    if (i % 20 == 0) {
      fmt::print("{:>8}  step {:>3}  loss {:.6f}\n", engine, i, last);
    }
  }
  return last;
}

}  // namespace

int main() {
  const double backprop = train("backprop"), forward = train("forward");
  return backprop < 0.05 && std::abs(backprop - forward) < 1e-4 ? 0 : 1;
}
