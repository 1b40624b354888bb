// Gradients of sequential models with unequal layers by a scan, against back-propagation.
#include "antichain/engines/scan/stack_walk.h"

#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/engines/scan/stage_cuts.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/engines/scan/random_values.h"

namespace antichain::scan::stack_walk_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kExamples = 3;

// Builds a loss from a batch of images [examples, 2, 6, 5] and weights.
struct Model {
  std::vector<Shape> weights;
  std::function<Var(Var x, const Vars& weights)> loss;
};

Var flattened(Var x) { return reshape(x, {x.dim(0), numel(x.shape()) / x.dim(0)}); }

Var bias(Var x, Var b) { return x + reshape(b, {b.dim(0), 1, 1}); }

// Two convolutions with pooling, and a linear layer.
Model conv_net() {
  return {{{3, 2, 3, 3}, {3}, {4, 3, 2, 2}, {4}, {5, 8}, {5}}, [](Var x, const Vars& w) {
            Var h = max_pool(relu(bias(conv(x, w[0], {.padding = {1, 1}}), w[1])),
                             {.window = {2, 2}, .padding = {0, 1}});
            h = tanh(bias(conv(h, w[2]), w[3]));
            const Var logits = matmul(flattened(avg_pool(h, {.window = {1, 1}, .stride = {1, 2}})),
                                      w[4], {.transpose_b = true}) +
                               w[5];
            return mean(square(log_softmax(logits)));
          }};
}

// Residual blocks, one of them with a convolution on its short way, and norms by statistics.
Model residual_net() {
  return {{{3, 2, 3, 3}, {3, 3, 3, 3}, {3, 3, 3, 3}, {4, 3, 3, 3}, {4, 3, 1, 1}, {4}, {4}},
          [](Var x, const Vars& w) {
            const ConvOptions same{.padding = {1, 1}};
            Var h = tanh(conv(x, w[0], same));
            h = relu(h + conv(relu(conv(h, w[1], same)), w[2], same));
            h = tanh(conv(h, w[3], {.stride = {2, 2}, .padding = {1, 1}}) +
                     conv(h, w[4], {.stride = {2, 2}}));
            const Var ones = ones_like(w[5]);
            h = sigmoid(batch_norm_inference(h, w[5], w[6], ones * 0.1, ones * 2));
            return sum(square(mean(h, {2, 3})));
          }};
}

// A weight that two layers share, through a value of its own; a norm over the batch, whose examples
// mix, between them.
Model shared_net() {
  return {{{60, 7}, {7, 7}, {7}, {7}}, [](Var x, const Vars& w) {
            const Var shared = softplus(w[1]);
            Var h = tanh(matmul(flattened(x), w[0]));
            h = sigmoid(matmul(tanh(matmul(h, shared)), shared));
            h = batch_norm(h, w[2], w[3]).output;
            h = tanh(matmul(relu(softmax(h) + h), shared));
            return sum(square(h));
          }};
}

// No op before the first weight, and gradients that are stopped.
Model stopped_net() {
  return {{{60, 4}, {4, 4}}, [](Var x, const Vars& w) {
            const Var h = relu(matmul(flattened(x), w[0]));
            return sum(square(tanh(matmul(stop_gradient(h) * h, w[1]))));
          }};
}

struct Settings {
  std::string engine;
  std::string algorithm = {};
  std::int64_t chunk = 0;
  bool in_call = false;  // the engine is that of a region instead of all
  bool with_x = true;    // x is differentiated by, too
  bool second = false;
  DType dtype = f64;
};

std::vector<Tensor> gradients(const Model& model, const Settings& settings) {
  const std::string algorithm = settings.algorithm.empty() ? "auto" : settings.algorithm;
  Session session(
      {.engines = {
           {"scan", {{"when", "always"}, {"algorithm", algorithm}, {"chunk", settings.chunk}}}}});
  Graph graph = session.graph();
  const Var x = graph.input("x", settings.dtype, {"batch", 2, 6, 5});
  Feeds feeds{{"x", random_values({kExamples, 2, 6, 5}, 0).cast(settings.dtype)}};
  Vars weights;
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    const std::string name = "w" + std::to_string(i);
    const Shape& shape = model.weights[i];
    weights.push_back(graph.input(name, settings.dtype, {shape.begin(), shape.end()}));
    feeds[name] = random_values(shape, i + 1).cast(settings.dtype);
  }
  Vars by = weights;
  if (settings.with_x) {
    by.push_back(x);
  }
  const Var loss = settings.in_call ? call(graph, [&] { return Vars{model.loss(x, weights)}; },
                                           {settings.engine})[0]
                                    : model.loss(x, weights);
  Vars grads = grad(loss, by, {.engine = settings.in_call ? "" : settings.engine});
  if (settings.second) {
    Var slope = scalar(graph, settings.dtype, 0);
    for (Var g : grads) {
      slope = slope + sum(square(g));
    }
    grads = grad(slope, by, {.zero_if_unused = true});
  }
  return session.compile(grads)(feeds).tensors();
}

void expect_exact(const Model& model, Settings settings, double tolerance = 1e-12) {
  const std::vector<Tensor> got = gradients(model, settings);
  settings.engine = "";
  const std::vector<Tensor> want = gradients(model, settings);
  for (std::size_t i = 0; i < want.size(); ++i) {
    conformance::expect_close(got[i], want[i], tolerance, "gradient " + std::to_string(i));
  }
}

TEST(StackWalk, GradientsAreThoseOfBackPropagation) {
  for (const Model& model : {conv_net(), residual_net(), shared_net(), stopped_net()}) {
    expect_exact(model, {"scan"});
    expect_exact(model, {.engine = "scan", .in_call = true});
    expect_exact(model, {.engine = "scan", .with_x = false});
    expect_exact(model, {.engine = "scan", .dtype = f32}, 2e-5);
  }
}

TEST(StackWalk, AllAlgorithms) {
  for (const Model& model : {conv_net(), residual_net()}) {
    expect_exact(model, {"scan", kScanSerial});
    expect_exact(model, {"scan", kScanBlelloch});
    expect_exact(model, {"scan", kScanHybrid});
    expect_exact(model, {"scan", kScanHybrid, 2});
    expect_exact(model, {"scan", kScanChunked, 3});
  }
}

TEST(StackWalk, SecondDerivatives) {
  for (const Model& model : {conv_net(), shared_net()}) {
    expect_exact(model, {.engine = "scan", .second = true}, 1e-10);
  }
}

TEST(StackWalk, InEagerMode) {
  const Model model = conv_net();
  const auto computed = [&](const std::string& engine) {
    Session session({.engines = {"scan:when=always"}});
    Eager eager(session);
    const Var x = eager(random_values({kExamples, 2, 6, 5}, 0));
    Vars weights;
    for (std::size_t i = 0; i < model.weights.size(); ++i) {
      weights.push_back(eager(random_values(model.weights[i], i + 1)));
    }
    std::vector<Tensor> found;
    for (Var g : grad(model.loss(x, weights), weights, {.engine = engine})) {
      found.push_back(g.value().clone());
    }
    return found;
  };
  const std::vector<Tensor> got = computed("scan"), want = computed("");
  for (std::size_t i = 0; i < want.size(); ++i) {
    conformance::expect_close(got[i], want[i], 1e-12, "gradient " + std::to_string(i));
  }
}

int count_ops(Graph& graph, Var value, const OpDef& def) {
  int count = 0;
  for (Op op : schedule(graph, std::span(&value, 1))) {
    count += &op.def() == &def ? 1 : 0;
  }
  return count;
}

TEST(StackWalk, JacobiansAreMultiplied) {
  for (const bool always : {false, true}) {
    Session session({.engines = {always ? "scan:when=always" : "scan"}});
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"batch", 5}), w = graph.input("w", f32, {5, 5});
    Var h = matmul(x, w);
    for (int i = 0; i < 3; ++i) {
      h = matmul(tanh(h), w);
    }
    const Var found = grad(sum(h), w, {.engine = "scan"});
    // Six stages: four multiplications by vectors or more, and some of matrices.
    EXPECT_EQ(count_ops(graph, found, csr_product_def()) > 6, always);
  }
}

TEST(StackWalk, CutsAreWhatEverythingFlowsThrough) {
  Graph graph;
  const Var x = graph.input("x", f64, {"batch", 4}), w = graph.input("w", f64, {4, 4}),
            late = graph.input("late", f64, {4, 4});
  const Var a = matmul(x, w), left = tanh(a), right = sin(a), joined = left * right,
            b = matmul(joined, late), end = sum(b);
  EXPECT_THAT(find_cuts(graph, Vars{late, w}, end), ElementsAre(a, joined, b, end));
  EXPECT_THAT(find_cuts(graph, Vars{late}, end), ElementsAre(b, end));
  EXPECT_THAT(find_cuts(graph, Vars{x}, end), ElementsAre(a, joined, b, end));
  // x also goes around a.
  const Var around = sum(joined + x);
  EXPECT_THAT(find_cuts(graph, Vars{x}, around), ElementsAre(a, joined, joined + x, around));
  EXPECT_THAT(find_cuts(graph, Vars{w}, around), ElementsAre(a, joined, joined + x, around));
  // A long branch of a block does not hide what leads into the block.
  const Var block = a + sin(cos(sin(cos(matmul(tanh(a), late)))));
  EXPECT_THAT(find_cuts(graph, Vars{w, late}, block), ElementsAre(a, block));
  // A weight of all layers.
  const Var second = matmul(a, w);
  EXPECT_THAT(find_cuts(graph, Vars{w}, second), ElementsAre(a, second));
  EXPECT_TRUE(find_cuts(graph, Vars{late}, around).empty());
  EXPECT_TRUE(find_cuts(graph, Vars{w}, w).empty());
  const StackWalk walk(graph, {w}, end);
  EXPECT_EQ(walk.num_stages(), 3);
  EXPECT_EQ(walk.num_scanned(), 2);  // the last is a sum over examples
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const NotSupported& error) {
    return error.what();
  }
  return {};
}

TEST(StackWalk, RefusesWhatHasNoStages) {
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", "width"});
  EXPECT_THAT(message_of([&] { grad(sum(tanh(sin(x))), x, {.engine = "scan"}); }),
              HasSubstr("there are no two stages in a row whose Jacobians are sparse matrices of "
                        "known size"));
  const Vars two = call(graph, [&] { return Vars{tanh(x), sin(x)}; }, {"scan"});
  EXPECT_THAT(message_of([&] { grad(sum(two[0] + two[1]), x); }),
              HasSubstr("it has 2 results, and stages lead to one"));
}

TEST(StackWalk, RefusesProductsThatAreTooLarge) {
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 2000}), w = graph.input("w", f32, {2000, 2000});
  const Var y = tanh(matmul(tanh(matmul(tanh(matmul(tanh(matmul(x, w)), w)), w)), w));
  EXPECT_THAT(message_of([&] { grad(sum(y), w, {.engine = "scan"}); }),
              HasSubstr("a product of two sparse Jacobians takes 8000000000 multiplications per "
                        "example, which is too many; ask for a smaller chunk of algorithm hybrid, "
                        "or for serial"));
}

TEST(StackWalk, SaysWhyItGoesStageByStage) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 4}), w = graph.input("w", f32, {4, 4});
  const Vars y = call(graph, [&] { return Vars{tanh(tanh(matmul(x, w)) + x)}; }, {"scan"});
  EXPECT_EQ(session.engines().find("scan").explain(y[0].producer()),
            "stage by stage: a scan over 3 of its 3 stages would multiply their Jacobians, many "
            "times the work of back-propagation");
  const Vars sums = call(graph, [&] { return Vars{sum(matmul(x, w))}; }, {"scan"});
  EXPECT_EQ(session.engines().find("scan").explain(sums[0].producer()),
            "stage by stage, since there are no two stages in a row whose Jacobians are sparse "
            "matrices of known size");
}

}  // namespace antichain::scan::stack_walk_test
