#include "antichain/nn/min_gru.h"

#include <gmock/gmock.h>

#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::min_gru_test {

constexpr std::int64_t kTime = 5, kBatch = 2, kIn = 3, kHidden = 4;

TEST(MinGru, NamesItsParameters) {
  Graph graph;
  const Var xs = graph.input("xs", f32, {"time", "batch", kIn});
  EXPECT_EQ(min_gru(xs, kHidden).shape(), (Dims{graph.dim("time"), graph.dim("batch"), kHidden}));
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("min_gru.weight_ih [8, 3]", "min_gru.bias_ih [8]"));
}

TEST(MinGru, ComputesItsFormula) {
  for (const char* engine : {"", "scan"}) {
    for (const bool reverse : {false, true}) {
      Session session;
      Graph graph = session.graph();
      const Var xs = graph.input("xs", f64, {kTime, kBatch, kIn}),
                start = graph.input("start", f64, {kBatch, kHidden});
      const Var all = min_gru(xs, kHidden, {.reverse = reverse, .start = start, .engine = engine});
      const Tensor x = random_values({kTime, kBatch, kIn}, 1),
                   h0 = random_values({kBatch, kHidden}, 2);
      const Tensor got = session.compile({all})({{"xs", x}, {"start", h0}})[0];
      const auto w = session.states().get("min_gru.weight_ih").to_vector<double>(),
                 b = session.states().get("min_gru.bias_ih").to_vector<double>();
      const auto in = x.to_vector<double>();
      auto h = h0.to_vector<double>();
      const Tensor want = Tensor::empty(f64, {kTime, kBatch, kHidden});
      for (std::int64_t n = 0; n < kTime; ++n) {
        const std::int64_t t = reverse ? kTime - 1 - n : n;
        for (std::int64_t i = 0; i < kBatch; ++i) {
          for (std::int64_t j = 0; j < kHidden; ++j) {
            const auto gate = [&](std::int64_t row) {
              double sum = b[static_cast<std::size_t>(row)];
              for (std::int64_t k = 0; k < kIn; ++k) {
                sum += w[static_cast<std::size_t>(row * kIn + k)] *
                       in[static_cast<std::size_t>((t * kBatch + i) * kIn + k)];
              }
              return sum;
            };
            const double z = 1 / (1 + std::exp(-gate(j)));
            double& state = h[static_cast<std::size_t>(i * kHidden + j)];
            state = (1 - z) * state + z * gate(kHidden + j);
            want.data<double>()[(t * kBatch + i) * kHidden + j] = state;
          }
        }
      }
      conformance::expect_close(got, want, 1e-14, engine);
    }
  }
}

TEST(MinGru, HasTheGradientsOfFiniteDifferences) {
  for (const char* engine : {"backprop", "forward", "scan"}) {
    expect_layer_gradients(
        [&](Graph&, const std::vector<Var>& in) {
          return min_gru(in[0], 2, {.batch_first = true, .start = in[1], .engine = engine});
        },
        {random_values({kBatch, 4, 3}, 1), random_values({kBatch, 2}, 2)});
  }
}

TEST(MinGru, HasNoChainWithScans) {
  const auto has = [](const OpDef& def, const std::string& engine) {
    Session session;
    Graph graph = session.graph();
    const Var xs = graph.input("xs", f32, {"time", "batch", kIn});
    for (Op op :
         schedule(graph, grad(sum(min_gru(xs, 2, {.engine = engine})), std::vector<Var>{xs}))) {
      if (&op.def() == &def) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(has(chain_def(), ""));
  EXPECT_FALSE(has(chain_def(), "scan"));
  EXPECT_TRUE(has(affine_scan_def(), "scan"));
}

TEST(MinGru, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var xs = graph.input("xs", f32, {"time", "batch", 3}), flat = graph.input("f", f32, {3, 4});
  expect_error<InvalidArgument>("min_gru: hidden must be above 0, got 0",
                                [&] { min_gru(xs, 0, {.name = "a"}); });
  expect_error<ShapeError>("min_gru: xs must be [time, batch, features], their shape is [3, 4]",
                           [&] { min_gru(flat, 2, {.name = "b"}); });
  expect_error<ShapeError>(
      "min_gru: a start must be [batch, hidden], its shape is [time, batch, 3]",
      [&] { min_gru(xs, 2, {.name = "c", .start = xs}); });
}

}  // namespace antichain::nn::min_gru_test
