// Eager mode: ops that compute at once, so that C++ can look at their values. Newton's iteration
// for the inverse of a matrix stops when the values say so; then the same as a graph.
#include <antichain/antichain.h>
#include <fmt/ranges.h>

#include <cmath>

namespace ac = antichain;

namespace {

constexpr double kTolerance = 1e-12;

// Schulz's iteration (1933), X := X (2 I - A X): each step doubles the number of right digits.
ac::Var start(ac::Var a) { return ac::transpose(a) / ac::sum(ac::square(a)); }
ac::Var residual(ac::Var a, ac::Var eye, ac::Var x) {
  return ac::max(ac::abs(ac::matmul(a, x) - eye));
}
ac::Var improve(ac::Var a, ac::Var eye, ac::Var x) {
  return ac::matmul(x, 2 * eye - ac::matmul(a, x));
}

// With a `while` of C++, which looks at values: for eager mode.
std::vector<ac::Var> inverse_by_while(const std::vector<ac::Var>& in) {
  ac::Var x = start(in[0]);
  while (residual(in[0], in[1], x).item<double>() > kTolerance) {
    x = improve(in[0], in[1], x);
  }
  return {x};
}

// With a `loop` in the graph: for both modes.
std::vector<ac::Var> inverse_by_loop(const std::vector<ac::Var>& in) {
  const ac::LoopResult result = ac::loop(
      {start(in[0])},
      [&](const ac::Vars& x) { return ac::greater(residual(in[0], in[1], x[0]), kTolerance); },
      [&](const ac::Vars& x) { return ac::Vars{improve(in[0], in[1], x[0])}; });
  return {result.last[0], result.steps, ac::grad(result.last[0], in[0])};
}

bool near(const ac::Tensor& found, const std::vector<double>& wanted) {
  const std::vector<double> values = found.to_vector<double>();
  bool all = values.size() == wanted.size();
  for (std::size_t i = 0; all && i < wanted.size(); ++i) {
    all = std::abs(values[i] - wanted[i]) < 1e-10;
  }
  return all;
}

}  // namespace

int main() {
  ac::Session session;
  const ac::Tensor matrix = ac::Tensor::of<double>({2, 2}, {4, 1, 2, 3});
  const ac::Tensor identity = ac::Tensor::of<double>({2, 2}, {1, 0, 0, 1});
  const std::vector<double> inverse = {0.3, -0.1, -0.2, 0.4};
  // The sum of the inverse has the slope -X^T 1 1^T X^T: minus the column sums (0.1, 0.3) of X
  // times its row sums (0.2, 0.2).
  const std::vector<double> slope = {-0.02, -0.02, -0.06, -0.06};

  ac::Eager eager(session);
  const ac::Var a = eager(matrix), eye = eager(identity);
  const ac::Var by_while = inverse_by_while({a, eye})[0];
  const ac::Var by_while_slope = ac::grad(by_while, a);  // the tape is a graph
  fmt::print("eager, while: {::.3f}, slope of its sum {::.3f}\n",
             by_while.value().to_vector<double>(), by_while_slope.value().to_vector<double>());

  const ac::Var eager_loop = inverse_by_loop({a, eye})[0];
  fmt::print("eager, loop:  {::.3f}\n", eager_loop.value().to_vector<double>());

  const std::vector<ac::InputSpec> inputs = {{"a", ac::f64, {2, 2}}, {"eye", ac::f64, {2, 2}}};
  bool refused = false;
  try {
    ac::record(session, inputs, inverse_by_while);
  } catch (const ac::InvalidArgument& error) {
    fmt::print("recording the while: {}\n", error.what());
    refused = true;
  }

  const ac::Executable compiled = ac::record(session, inputs, inverse_by_loop);
  const ac::Results by_loop = compiled({{"a", matrix}, {"eye", identity}});
  fmt::print("graph, loop:  {::.3f} after {} steps, slope {::.3f}\n",
             by_loop[0].to_vector<double>(), by_loop[1].item<std::int64_t>(),
             by_loop[2].to_vector<double>());

  const bool right = refused && near(by_while.value(), inverse) &&
                     near(eager_loop.value(), inverse) && near(by_loop[0], inverse) &&
                     near(by_while_slope.value(), slope) && near(by_loop[2], slope);
  return right ? 0 : 1;
}
