#include "tests/optim/trajectory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"

namespace antichain::optim {

namespace {

constexpr std::size_t kRows = 5, kIn = 3, kHidden = 2;

double x_at(int batch, std::size_t row, std::size_t column) {
  return std::sin(1.7 * static_cast<double>(row) + 2.3 * static_cast<double>(column) + 0.9 * batch +
                  0.4);
}

double y_at(int batch, std::size_t row) {
  return std::cos(0.8 * static_cast<double>(row) + 1.1 * batch);
}

Feeds feeds_of(int batch, DType dtype) {
  std::vector<double> x, y;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kIn; ++column) {
      x.push_back(x_at(batch, row, column));
    }
    y.push_back(y_at(batch, row));
  }
  return {{"x", Tensor::of<double>({kRows, kIn}, x).cast(dtype)},
          {"y", Tensor::of<double>({kRows}, y).cast(dtype)}};
}

struct Model {
  Session session;
  Graph graph = session.graph();
  Var loss;
  Executable step;

  Model(const Optimiser& optimiser, DType dtype)
      : loss(build(dtype)), step(session.compile({loss}, {.updates = optimiser(loss)})) {}

  Var build(DType dtype) {
    const Point from = start();
    const std::span<const double> values(from);
    const auto initial = [&](const Block& block, const Shape& shape) {
      return constant(
          graph, Tensor::of<double>(shape, values.subspan(block.first, block.count)).cast(dtype));
    };
    const Var x = graph.input("x", dtype, {"batch", static_cast<int>(kIn)}),
              y = graph.input("y", dtype, {"batch"});
    const Var w = parameter("w", initial(kBlocks[0], {kIn, kHidden}));
    const Var v = parameter("v", initial(kBlocks[1], {kHidden}));
    const Var bias = parameter("bias", initial(kBlocks[2], {}));
    return mean(square(sum(tanh(matmul(x, w)) * v, {1}) + bias - y));
  }

  Point point() {
    Point result{};
    const std::array<const char*, 3> names = {"w", "v", "bias"};
    for (std::size_t n = 0; n < names.size(); ++n) {
      const std::vector<double> values = session.states().get(names[n]).to_vector<double>();
      std::copy(values.begin(), values.end(), result.begin() + static_cast<long>(kBlocks[n].first));
    }
    return result;
  }
};

}  // namespace

Point start() {
  Point point{};
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] = 0.7 * std::sin(2.1 * static_cast<double>(i) + 0.3);
  }
  return point;
}

double loss_at(const Point& point, int batch, Point& gradient) {
  gradient.fill(0);
  double loss = 0;
  const double* const w = point.data();
  const double* const v = w + kW;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::array<double, kHidden> hidden{};
    double error = point[kW + kV] - y_at(batch, row);
    for (std::size_t h = 0; h < kHidden; ++h) {
      for (std::size_t i = 0; i < kIn; ++i) {
        hidden[h] += x_at(batch, row, i) * w[i * kHidden + h];
      }
      hidden[h] = std::tanh(hidden[h]);
      error += hidden[h] * v[h];
    }
    loss += error * error / kRows;
    const double slope = 2 * error / kRows;
    for (std::size_t h = 0; h < kHidden; ++h) {
      gradient[kW + h] += slope * hidden[h];
      for (std::size_t i = 0; i < kIn; ++i) {
        gradient[i * kHidden + h] +=
            slope * v[h] * (1 - hidden[h] * hidden[h]) * x_at(batch, row, i);
      }
    }
    gradient[kW + kV] += slope;
  }
  return loss;
}

std::vector<Point> by_hand(const Rule& rule, int steps) {
  std::vector<Point> points;
  Point point = start(), gradient{};
  for (int step = 1; step <= steps; ++step) {
    loss_at(point, step - 1, gradient);
    rule(point, gradient, step);
    points.push_back(point);
  }
  return points;
}

std::vector<Point> by_graph(const Optimiser& optimiser, int runs, DType dtype, int split) {
  auto model = std::make_unique<Model>(optimiser, dtype);
  std::vector<Point> points;
  for (int run = 0; run < runs; ++run) {
    if (run == split) {
      auto resumed = std::make_unique<Model>(optimiser, dtype);
      for (const auto& [name, value] : model->session.states().all()) {
        resumed->session.states().set(name, value.clone());
      }
      model = std::move(resumed);
    }
    model->step(feeds_of(run, dtype));
    points.push_back(model->point());
  }
  return points;
}

void expect_trajectory(const Rule& rule, const Optimiser& optimiser, double rounding) {
  const std::vector<Point> expected = by_hand(rule), found = by_graph(optimiser);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < expected.size(); ++step) {
    for (std::size_t i = 0; i < kNumParameters; ++i) {
      ASSERT_NEAR(found[step][i], expected[step][i], rounding)
          << "parameter " << i << " after step " << step + 1;
    }
  }
  EXPECT_GT(std::abs(expected.back()[0] - start()[0]), 1e-4);
  const std::vector<Point> resumed = by_graph(optimiser, kSteps, f64, kSteps / 2);
  EXPECT_EQ(resumed, found) << "resumed from its states, it must give the same bits";
}

}  // namespace antichain::optim
