// Second derivatives: a loss that contains a gradient. A network is told only that it is 0 on the
// unit circle, -1 in the middle, and that its slope has length 1 everywhere: what remains is the
// distance from the circle.
#include <antichain/antichain.h>
#include <fmt/core.h>

namespace ac = antichain;

namespace {

constexpr std::int64_t kPoints = 128;  // on the circle, and as many in the square around it
constexpr double kHalfSquare = 1.5;
constexpr int kSteps = 1500;

ac::Var length_of_rows(ac::Var x) { return ac::sqrt(ac::sum(ac::square(x), {1})); }

struct Errors {
  double slope;     // mean distance of |slope| from 1
  double distance;  // mean distance of the network from |x| - 1
};

Errors train(double penalty_weight) {
  ac::Session session({.seed = 2});
  ac::Graph graph = session.graph();

  // Random ops draw new points in every run, so there is nothing to feed.
  const ac::Var direction = ac::random_normal(graph, ac::f32, {kPoints, 2});
  const ac::Var circle = direction / ac::expand_dims(length_of_rows(direction), 1);
  const ac::Var square = kHalfSquare * (2 * ac::random_uniform(graph, ac::f32, {kPoints, 2}) - 1);
  const ac::Var middle = ac::zeros(graph, ac::f32, {1, 2});
  const ac::Var x = ac::concat({circle, square, middle}, 0);
  const ac::Var f = ac::squeeze(ac::nn::mlp(x, {32, 32, 1}, {.activation = ac::tanh}), 1);
  const std::vector<ac::Var> parts = ac::split(f, {kPoints, kPoints, 1}, 0);

  // Every row of x touches only its own element of f, so the gradient of the sum holds the slope at
  // each point. It is made of ordinary ops, and sgd() below differentiates it again.
  const ac::Var slope =
      ac::slice(ac::grad(f, x), {{.axis = 0, .start = kPoints, .stop = 2 * kPoints}});
  const ac::Var slope_error = length_of_rows(slope) - 1;
  const ac::Var loss = ac::mean(ac::square(parts[0])) + ac::mean(ac::square(parts[2] + 1)) +
                       penalty_weight * ac::mean(ac::square(slope_error));

  const ac::Var distance_error = parts[1] - (length_of_rows(square) - 1);
  const ac::Executable test =
      session.compile({ac::mean(ac::abs(slope_error)), ac::mean(ac::abs(distance_error))});
  const ac::Executable step =
      session.compile({loss}, {.updates = ac::optim::sgd(loss, {.lr = 0.05, .momentum = 0.9})});
  for (int i = 0; i < kSteps; ++i) {
    step({});
  }
  const ac::Results errors = test({});
  return {errors[0].item<double>(), errors[1].item<double>()};
}

}  // namespace

int main() {
  const Errors without = train(0), with = train(0.5);
  fmt::print("             |slope| - 1   distance\n");
  fmt::print("no penalty      {:>8.3f}   {:>8.3f}\n", without.slope, without.distance);
  fmt::print("penalty         {:>8.3f}   {:>8.3f}\n", with.slope, with.distance);
  return with.slope < 0.1 && with.distance < 0.06 && with.distance < without.distance / 2 ? 0 : 1;
}
