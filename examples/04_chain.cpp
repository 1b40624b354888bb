// A chain: a recurrent network over a sequence of any length, and its gradient by two engines and
// by finite differences. All three agree.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <cmath>

namespace ac = antichain;

namespace {

constexpr std::int64_t kBatch = 2, kFeatures = 3, kHidden = 4;

// The loss of a recurrent network after the last step. The body of a chain is built once, whatever
// the length of the sequence; the weights are captured from outside.
ac::Var loss_of(ac::Var xs, ac::Var w_x, ac::Var w_h, const std::string& engine) {
  const auto cell = [&](ac::Var h, ac::Var x) {
    return ac::tanh(ac::matmul(x, w_x) + ac::matmul(h, w_h));
  };
  const ac::Var start = ac::zeros(xs.graph(), ac::f64, {xs.dim(1), kHidden});
  return ac::sum(ac::square(ac::chain(start, xs, cell, {.engine = engine}).last));
}

// Numbers in (-1, 1) without a pattern that matters.
ac::Tensor numbers(const ac::Shape& shape, double seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < ac::numel(shape); ++i) {
    values.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  }
  return ac::Tensor::of<double>(shape, values);
}

// The greatest difference between two tensors of doubles.
double distance(const ac::Tensor& a, const ac::Tensor& b) {
  double greatest = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    greatest = std::max(greatest, std::abs(a.data<double>()[i] - b.data<double>()[i]));
  }
  return greatest;
}

// The slope of the first result along every element of one feed, by central differences.
ac::Tensor finite_differences(const ac::Executable& run, ac::Feeds feeds, const std::string& name) {
  constexpr double kStep = 1e-5;  // the error of central differences is of order kStep^2
  const ac::Tensor point = feeds.at(name), slope = point.clone();
  for (std::int64_t i = 0; i < point.numel(); ++i) {
    const auto loss_at = [&](double step) {
      feeds[name] = point.clone();
      feeds[name].data<double>()[i] += step;
      return run(feeds).item<double>();
    };
    slope.data<double>()[i] = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
  }
  return slope;
}

}  // namespace

int main() {
  ac::Session session;
  ac::Graph graph = session.graph();
  const ac::Var xs = graph.input("xs", ac::f64, {"time", kBatch, kFeatures});
  const ac::Var w_x = graph.input("w_x", ac::f64, {kFeatures, kHidden});
  const ac::Var w_h = graph.input("w_h", ac::f64, {kHidden, kHidden});

  // Back-propagation walks back through the sequence. Forward mode carries derivatives along with
  // the sequence instead, one weight after the other.
  const ac::Var loss = loss_of(xs, w_x, w_h, "backprop");
  const ac::Var other = loss_of(xs, w_x, w_h, "forward");
  const ac::Executable value = session.compile({loss});
  const ac::Executable slopes = session.compile({ac::grad(loss, w_h), ac::grad(other, w_h)});

  bool right = true;
  for (const std::int64_t time : {2, 5, 12}) {  // one executable for all lengths
    const ac::Feeds feeds = {{"xs", numbers({time, kBatch, kFeatures}, 1)},
                             {"w_x", numbers({kFeatures, kHidden}, 2)},
                             {"w_h", numbers({kHidden, kHidden}, 3)}};
    const ac::Results found = slopes(feeds);
    const double engines = distance(found[0], found[1]);
    const double differences = distance(found[0], finite_differences(value, feeds, "w_h"));
    fmt::print(
        "{:>2} steps  loss {:.6f}  forward differs by {:.0e}, finite differences by {:.0e}\n", time,
        value(feeds).item<double>(), engines, differences);
    right = right && engines < 1e-12 && differences < 1e-7;
  }
  return right ? 0 : 1;
}
