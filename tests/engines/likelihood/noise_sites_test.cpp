// Where noise goes.
#include "antichain/engines/likelihood/noise_sites.h"

#include <gtest/gtest.h>

#include "antichain/autodiff/outline.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"

namespace antichain::noise_sites_test {

// The sites of a model as "scope[shape]".
std::vector<std::string> sites_of(const std::function<Var(Graph&)>& losses) {
  Session session;
  Graph graph = session.graph();
  const Var built = losses(graph);
  const Op region = outline({built}, parameters(graph), EngineChoice("likelihood"));
  std::vector<bool> learned(static_cast<std::size_t>(region.num_inputs()));
  std::fill_n(learned.begin(), parameters(graph).size(), true);
  std::vector<std::string> found;
  for (const likelihood::Site& site : likelihood::find_sites(region, learned)) {
    found.push_back(site.scope + to_string(site.shape()) + (site.is_before_relu ? " relu" : ""));
  }
  return found;
}

using Names = std::vector<std::string>;

Var losses_of(Var values) {
  return nn::cross_entropy(values, values.graph().input("y", i64, {"n"}));
}

TEST(NoiseSites, LayersBehindTheirBias) {
  EXPECT_EQ(sites_of([](Graph& graph) {
              Var x = relu(nn::linear(graph.input("x", f32, {"n", 4}), 5, {.name = "a"}));
              x = tanh(nn::linear(x, 6, {.name = "b", .bias = false}));
              return losses_of(nn::linear(x, 3, {.name = "c"}));
            }),
            (Names{"a[n, 5] relu", "b[n, 6]", "c[n, 3]"}));
}

TEST(NoiseSites, Convolutions) {
  EXPECT_EQ(sites_of([](Graph& graph) {
              Var x = graph.input("x", f32, {"n", 1, 6, 6});
              x = relu(nn::conv2d(x, 2, {3, 3}, {.name = "conv"}));
              return losses_of(nn::linear(reshape(x, {x.dim(0), 32}), 3, {.name = "out"}));
            }),
            (Names{"conv[n, 2, 4, 4] relu", "out[n, 3]"}));
}

TEST(NoiseSites, InputAndRecurrentProductsOfEachStep) {
  EXPECT_EQ(sites_of([](Graph& graph) {
              const Var words = graph.input("words", i64, {7, "n"});
              const Var xs = nn::embedding(words, 20, 4, {.name = "words"});
              return losses_of(
                  nn::linear(index(nn::gru(xs, 5, {.name = "gru"}).all, 0, 6), 3, {.name = "out"}));
            }),
            (Names{"gru[7, n, 15]", "gru[7, n, 15]", "out[n, 3]"}));
}

TEST(NoiseSites, GraphLayersBehindTheirSums) {
  EXPECT_EQ(sites_of([](Graph& graph) {
              const Csr neighbours{
                  .values = ones(graph, f32, {3}),
                  .columns = constant(graph, Tensor::of<std::int64_t>({3}, {1, 2, 0})),
                  .row_starts = constant(graph, Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})),
                  .num_columns = 3};
              Var x = constant(graph, Tensor::zeros(f32, {3, 4}));
              x = relu(nn::gcn(neighbours, x, 5, {.name = "first"}));
              return nn::cross_entropy(nn::gcn(neighbours, x, 2, {.name = "second"}),
                                       constant(graph, Tensor::zeros(i64, {3})));
            }),
            (Names{"first[3, 5] relu", "second[3, 2]"}));
}

TEST(NoiseSites, ThoseThatAreNamed) {
  EXPECT_EQ(sites_of([](Graph& graph) {
              const Var x = nn::linear(graph.input("x", f32, {"n", 4}), 5, {.name = "a"});
              const ScopeGuard scope(graph, "named");
              return losses_of(nn::linear(noise_site(tanh(x)), 3, {.name = "b"}));
            }),
            (Names{"named.noise_site[n, 5]"}));
}

}  // namespace antichain::noise_sites_test
