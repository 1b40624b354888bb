// Gradients of chains by a scan, against those by the chain that walks back.
#include "antichain/engines/scan/scan_engine.h"

#include <gmock/gmock.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/debug_ops.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/engines/scan/random_values.h"

namespace antichain::scan_engine_test {

// Builds a loss of inputs, some of whose sizes may be symbols, with an engine for its chains.
using Loss = std::function<Var(const Vars& in, const std::string& engine)>;
struct Input {
  std::vector<DimSpec> declared;
  Shape shape;
};

std::vector<Tensor> gradients(const std::vector<Input>& inputs, const Loss& loss,
                              const std::string& engine, bool second) {
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  Vars in;
  Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    in.push_back(graph.input(name, f64, inputs[i].declared));
    feeds[name] = random_values(inputs[i].shape, i);
  }
  Vars grads = grad(loss(in, engine), in, {.zero_if_unused = true});
  if (second) {
    Var slope = scalar(graph, f64, 0);
    for (Var g : grads) {
      slope = slope + sum(square(g));
    }
    grads = grad(slope, in, {.zero_if_unused = true});
  }
  return session.compile(grads)(feeds).tensors();
}

void expect_exact(const std::vector<Input>& inputs, const Loss& loss) {
  for (const bool second : {false, true}) {
    const std::vector<Tensor> got = gradients(inputs, loss, "scan", second),
                              want = gradients(inputs, loss, "", second);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      conformance::expect_close(
          got[i], want[i], 1e-11,
          (second ? "second derivative, input " : "gradient, input ") + std::to_string(i));
    }
  }
}

Input fixed(const Shape& shape) { return {{shape.begin(), shape.end()}, shape}; }

TEST(ScanEngine, TwoStatesThatMix) {
  // An LSTM cell, with losses at every step and on both last states; batch and time are symbols.
  const Loss loss = [](const Vars& in, const std::string& engine) {
    const auto cell = [&](Var, const Vars& s, const Vars& x) -> StepResult {
      const Vars gates = split(matmul(s[0], in[3]) + x[0], {3, 3, 3, 3}, 1);
      const Var c = sigmoid(gates[1]) * s[1] + sigmoid(gates[0]) * tanh(gates[2]);
      const Var h = sigmoid(gates[3]) * tanh(c);
      return {{h, c}, {h * s[1]}};
    };
    const ChainResult found = chain({in[0], in[1]}, {in[2]}, cell, {.engine = engine});
    return sum(found.last[0]) + sum(square(found.last[1])) + sum(found.ys[0]) +
           sum(found.before[1] * 0.3);
  };
  expect_exact({{{"batch", 3}, {2, 3}},
                {{"batch", 3}, {2, 3}},
                {{"time", "batch", 12}, {4, 2, 12}},
                fixed({3, 12})},
               loss);
}

TEST(ScanEngine, ElementwiseStepsInEitherDirection) {
  for (const bool reverse : {false, true}) {
    expect_exact(
        {{{"batch", "width"}, {2, 3}}, {{"time", "batch", "width"}, {5, 2, 3}}, {{"width"}, {3}}},
        [reverse](const Vars& in, const std::string& engine) {
          const auto cell = [&](Var h, Var x) { return sin(h * in[2] + x) + h; };
          const Chain found = chain(in[0], in[1], cell, {.engine = engine, .reverse = reverse});
          return sum(found.last) + sum(square(found.all));
        });
  }
}

TEST(ScanEngine, StatesOfSeveralShapesAndAnInteger) {
  const Loss loss = [](const Vars& in, const std::string& engine) {
    Graph& graph = in[0].graph();
    const auto body = [&](Var step, const Vars& s, const Vars& x) -> StepResult {
      const Var matrix = s[0] * cos(s[2]) + x[0];
      const Var total = s[2] + sum(square(s[0]), {1, 2}, true) * 0.1;
      return {{matrix, s[1] + step, total}, {cast(s[1], f64) * s[2]}};
    };
    const ChainResult found =
        chain({in[0], scalar(graph, i64, 2), in[1]}, {in[2]}, body, {.engine = engine});
    return sum(found.last[0]) + sum(found.last[2]) + sum(found.ys[0]);
  };
  expect_exact({fixed({2, 2, 3}), fixed({2, 1, 1}), fixed({3, 2, 2, 3})}, loss);
}

TEST(ScanEngine, FewSteps) {
  for (const std::int64_t steps : {0, 1, 2}) {
    expect_exact({fixed({2, 2}), {{"time", 2, 2}, {steps, 2, 2}}, fixed({2, 2})},
                 [](const Vars& in, const std::string& engine) {
                   const auto cell = [&](Var h, Var x) { return tanh(matmul(h, in[2]) + x); };
                   return sum(square(chain(in[0], in[1], cell, {.engine = engine}).last));
                 });
  }
}

// The same value as a sequence, as another sequence and as a whole; nothing carried at all; steps
// that count; a result that is no function of the state.
TEST(ScanEngine, UnusualBodies) {
  expect_exact({fixed({3}), fixed({4, 3})}, [](const Vars& in, const std::string& engine) {
    const auto body = [&](Var step, const Vars& s, const Vars& x) -> StepResult {
      return {{s[0] * x[0] + sum(in[1] * x[1]) * cast(step, f64)}, {x[0] * in[0]}};
    };
    const ChainResult found = chain({in[0]}, {in[1], in[1]}, body, {.engine = engine});
    return sum(square(found.last[0])) + sum(found.ys[0]);
  });
  expect_exact({fixed({4, 3}), fixed({3})}, [](const Vars& in, const std::string& engine) {
    const auto body = [&](Var, const Vars&, const Vars& x) -> StepResult {
      return {{}, {sin(x[0]) * in[1], square(in[1])}};
    };
    const ChainResult found = chain({}, {in[0]}, body, {.engine = engine});
    return sum(found.ys[0]) + sum(found.ys[1]);
  });
  expect_exact({fixed({3}), fixed({4, 3})}, [](const Vars& in, const std::string& engine) {
    const ChainResult found =
        chain({in[0]}, {in[1]},
              [](Var, const Vars&, const Vars& x) -> StepResult { return {{sin(x[0])}}; },
              {.engine = engine});
    return sum(square(found.last[0])) + sum(found.before[0]);
  });
}

// Ops without a rule of their own run step by step: sorting, drawing, looking up.
TEST(ScanEngine, OpsWithoutARule) {
  expect_exact({fixed({2, 3}), fixed({3, 2, 3})}, [](const Vars& in, const std::string& engine) {
    const auto cell = [&](Var h, Var x) {
      const Var mask = cast(random_bernoulli(h.graph(), 0.7, h.shape()), f64);
      return top_k(h * mask + x, 3, 1).values * 0.9;
    };
    return sum(square(chain(in[0], in[1], cell, {.engine = engine}).all));
  });
}

TEST(ScanEngine, ChainsInAChain) {
  expect_exact({fixed({2}), fixed({3, 2}), fixed({2, 2})},
               [](const Vars& in, const std::string& engine) {
                 const auto inner = [&](Var h, Var w) { return tanh(h * w); };
                 const auto outer = [&](Var h, Var x) {
                   return chain(h + x, in[2], inner, {.engine = engine}).last;
                 };
                 return sum(square(chain(in[0], in[1], outer, {.engine = engine}).last));
               });
}

// Says how many ops of a kind a loss and its gradient have.
int count_ops(const OpDef& def, const std::string& engine, bool elementwise) {
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {"batch", 4}), xs = graph.input("xs", f32, {"t", "batch", 4}),
            w = graph.input("w", f32, {4, 4});
  const auto cell = [&](Var s, Var x) {
    return elementwise ? sigmoid(x) * s : tanh(matmul(s, w) + x);
  };
  const Var last = chain(h, xs, cell, {.engine = engine}).last;
  int count = 0;
  for (Op op : schedule(graph, grad(sum(last), {h, xs, w}, {.zero_if_unused = true}))) {
    count += &op.def() == &def ? 1 : 0;
    if (&op.def() == &affine_scan_def()) {
      EXPECT_EQ(has_matrices(op), !elementwise);
    }
  }
  return count;
}

// Convolutions and pools of all steps are computed at once: only the chain that goes forward is
// left.
TEST(ScanEngine, ComputesConvolutionsOfAllStepsAtOnce) {
  const auto loss = [](const Vars& in, const std::string& engine) {
    const auto cell = [&](Var h, Var x) {
      const Var inner = relu(conv(h + x, in[2], {.padding = {1}}));
      const Var pooled = avg_pool(inner, {.window = {3}, .stride = {1}, .padding = {1}});
      return h + 0.1 * max_pool(conv(pooled, in[3], {.padding = {1}}),
                                {.window = {3}, .stride = {1}, .padding = {1}});
    };
    return sum(square(chain(in[0], in[1], cell, {.engine = engine}).last));
  };
  expect_exact({fixed({2, 2, 3}), fixed({3, 2, 2, 3}), fixed({4, 2, 3}), fixed({2, 4, 3})}, loss);
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Vars in = {graph.input("h", f64, {2, 2, 3}), graph.input("xs", f64, {"t", 2, 2, 3}),
                   graph.input("w", f64, {4, 2, 3}), graph.input("v", f64, {2, 4, 3})};
  int chains = 0, scans = 0;
  for (Op op : schedule(graph, grad(loss(in, "scan"), in))) {
    chains += &op.def() == &chain_def() ? 1 : 0;
    scans += &op.def() == &affine_scan_def() ? 1 : 0;
  }
  EXPECT_EQ(chains, 1);
  EXPECT_EQ(scans, 1);
}

TEST(ScanEngine, WalksBackInOneScan) {
  for (const bool elementwise : {false, true}) {
    EXPECT_EQ(count_ops(chain_def(), "", elementwise), 2);
    EXPECT_EQ(count_ops(chain_def(), "scan", elementwise), 1);  // the one that goes forward
    EXPECT_EQ(count_ops(affine_scan_def(), "scan", elementwise), 1);
  }
}

TEST(ScanEngine, EveryAlgorithm) {
  const auto gradient = [](std::unique_ptr<GradientEngine> engine) {
    Session session;
    auto engines = std::make_shared<EngineSet>();
    engines->add(std::move(engine));
    Graph graph(engines);
    const Var w = graph.input("w", f64, {3, 3}), xs = graph.input("xs", f64, {50, 2, 3});
    const auto cell = [&](Var h, Var x) { return tanh(matmul(h, w) + x); };
    const Var last = chain(zeros(graph, f64, {2, 3}), xs, cell, {.engine = "scan"}).last;
    return session.compile({grad(sum(last), w)})(
        {{"w", random_values({3, 3}, 1)}, {"xs", random_values({50, 2, 3}, 2)}})[0];
  };
  const Tensor want = gradient(make_scan_engine({.algorithm = kScanSerial}));
  for (const ScanOptions& options :
       {ScanOptions{}, ScanOptions{kScanBlelloch}, ScanOptions{kScanHybrid, 8},
        ScanOptions{kScanChunked}, ScanOptions{kScanChunked, 7}}) {
    conformance::expect_close(gradient(make_scan_engine(options)), want, 1e-12, options.algorithm);
  }
}

TEST(ScanEngine, SaysWhatItCannotDo) {
  Session session({.engines = {"scan:when=always"}});
  Graph graph = session.graph();
  const Var h = graph.input("h", f32, {"batch", 4}), xs = graph.input("xs", f32, {3, "batch", 4});
  const auto refused = [&](const std::string& reason, const std::function<Var(Var, Var)>& cell) {
    const Var last = chain(h, xs, cell, {.engine = "scan"}).last;
    try {
      grad(sum(last), h);
      ADD_FAILURE() << "not refused: " << reason;
    } catch (const NotSupported& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refused("its steps mix 4*batch numbers of the state",
          [](Var s, Var x) { return s * sum(s) + x; });
  refused("has an effect", [](Var s, Var x) { return print(s, "s") + x; });
  const Var called = call(graph, [&] { return Vars{sin(h)}; }, {.engine = "scan"})[0];
  EXPECT_THROW(grad(sum(called), h), NotSupported);
  const Var wide = graph.input("wide", f32, {5, 2000});
  EXPECT_THROW(grad(sum(chain(wide, xs, [](Var s, Var x) { return s * sum(s, {1}, true) + sum(x); },
                              {.engine = "scan"})
                            .last),
                    wide),
               NotSupported);
}

}  // namespace antichain::scan_engine_test
