// A network of 256 layers whose gradient is found by multigrid cycles: all intervals of layers run
// at once, and every cycle brings the gradient closer to the exact one.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <cmath>

namespace ac = antichain;

namespace {

constexpr std::int64_t kLayers = 256, kWidth = 8, kSamples = 32;

// u + h tanh(u w + b) in every layer: an Euler step of a differential equation.
ac::Var loss_of(ac::Var u, ac::Var weights, const ac::EngineChoice& engine) {
  const auto layer = [](ac::Var state, ac::Var w) {
    return state + 5.0 / kLayers * ac::tanh(ac::matmul(state, w));
  };
  return ac::mean(ac::square(ac::chain(u, weights, layer, {.engine = engine}).last));
}

// Weights that change smoothly from layer to layer, as coarse grids need it.
ac::Tensor smooth_weights() {
  std::vector<double> values;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    for (std::int64_t i = 0; i < kWidth * kWidth; ++i) {
      const double time = static_cast<double>(layer) / kLayers;
      values.push_back(std::sin(2.3 * static_cast<double>(i) + 3 * time));
    }
  }
  return ac::Tensor::of<double>({kLayers, kWidth, kWidth}, values);
}

ac::Tensor samples() {
  std::vector<double> values;
  for (std::int64_t i = 0; i < kSamples * kWidth; ++i) {
    values.push_back(std::cos(1.7 * static_cast<double>(i)));
  }
  return ac::Tensor::of<double>({kSamples, kWidth}, values);
}

double error_of(const ac::Tensor& found, const ac::Tensor& exact) {
  double distance = 0, length = 0;
  for (std::int64_t i = 0; i < exact.numel(); ++i) {
    const double want = exact.data<double>()[i], difference = found.data<double>()[i] - want;
    distance += difference * difference;
    length += want * want;
  }
  return std::sqrt(distance / length);
}

}  // namespace

int main() {
  ac::Session session;
  ac::Graph graph = session.graph();
  const ac::Var u = graph.input("u", ac::f64, {kSamples, kWidth});
  const ac::Var weights = graph.input("weights", ac::f64, {kLayers, kWidth, kWidth});
  const auto gradient = [&](const ac::EngineChoice& engine) {
    const ac::Var found = ac::grad(loss_of(u, weights, engine), weights);
    return session.compile({found})({{"u", samples()}, {"weights", smooth_weights()}})[0];
  };
  const ac::Tensor exact = gradient("backprop");
  double error = 1;
  for (const int cycles : {1, 2, 3}) {
    error = error_of(
        gradient({"multigrid", {{"when", "always"}, {"coarsening", 16}, {"cycles", cycles}}}),
        exact);
    fmt::print("{} cycle{}: relative error of the gradient {:.1e}\n", cycles,
               cycles == 1 ? "" : "s", error);
  }
  return error < 1e-3 ? 0 : 1;
}
