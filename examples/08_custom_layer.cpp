// A layer of one's own: radial basis functions, exp(-|x - centre|^2 / width^2) for each of a number
// of units (Broomhead and Lowe, 1988), with centres and widths that are learned. Like the layers of
// the library it is a function that builds a part of a graph and creates its parameters on the way.
#include <antichain/antichain.h>
#include <fmt/core.h>

namespace ac = antichain;

namespace {

constexpr std::int64_t kArms = 3, kUnits = 48;
constexpr int kSteps = 300;
constexpr double kWantedAccuracy = 0.95;

struct RbfOptions {
  std::string name = "rbf";
  double width = 0.3;  // at the beginning
};

// Maps x[n, features] to [n, units]. nn::Layer names the parameters ("rbf.centre", "rbf.width"),
// gives them a type of at least 32 bits, and refuses a name that is taken; used() casts them to the
// type of x, so the layer works in bf16, too.
ac::Var rbf(ac::Var x, std::int64_t units, const RbfOptions& options = {}) {
  const ac::nn::Layer layer("rbf", x, options.name);
  const std::int64_t features = ac::nn::require_features("rbf", x);
  const ac::Var centre = layer.parameter("centre", {units, features}, ac::nn::uniform(-1, 1));
  const ac::Var width = layer.parameter("width", {units}, ac::nn::constant(options.width));
  const ac::Var from_centre = ac::expand_dims(x, 1) - layer.used(centre);  // [n, units, features]
  return ac::exp(-ac::sum(ac::square(from_centre), {-1}) / ac::square(layer.used(width)));
}

}  // namespace

int main() {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var logits = ac::nn::linear(rbf(x, kUnits), kArms);
  const ac::Var loss = ac::mean(ac::nn::cross_entropy(logits, y));
  const ac::Var accuracy = 1 - ac::mean(ac::nn::zero_one(logits, y));
  for (const ac::Var parameter : ac::parameters(graph)) {
    fmt::print("{:<14} {}\n", ac::state_name(parameter), ac::to_string(parameter.shape()));
  }

  // Its derivative comes with it. Two engines that have nothing in common find the same one.
  const ac::Var centre = ac::read_state(graph, "rbf.centre");
  const ac::Var difference = ac::grad(loss, centre) - ac::grad(loss, centre, {.engine = "forward"});
  const ac::Executable disagreement = session.compile({ac::max(ac::abs(difference))});
  const ac::Executable test = session.compile({accuracy});
  const ac::Executable train =
      session.compile({loss}, {.updates = ac::optim::adam(loss, {.lr = 0.02})});

  const auto seen = ac::data::spirals({.arms = kArms, .points = 600});
  const auto unseen = ac::data::spirals({.arms = kArms, .points = 300, .stream = 1});
  const auto apart = disagreement(seen->tensors()).item<double>();
  fmt::print("largest difference between two engines: {:.1e}\n", apart);
  for (int step = 1; step <= kSteps; ++step) {
    const auto now = train(seen->tensors()).item<double>();
    if (step % 100 == 0) {
      fmt::print("step {:>3}  loss {:.4f}\n", step, now);
    }
  }
  const auto reached = test(unseen->tensors()).item<double>();
  fmt::print("accuracy on new points: {:.1f} %\n", 100 * reached);
  return reached >= kWantedAccuracy && apart < 1e-6 ? 0 : 1;
}
