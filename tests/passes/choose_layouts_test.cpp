// Which ops compute with channels last, and that they compute the same.
#include "antichain/passes/layout/choose_layouts.h"

#include <algorithm>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/print.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/optim/sgd.h"
#include "antichain/passes/fusion/min_cut.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/passes/pass_test.h"

namespace antichain::choose_layouts_test {

using In = std::span<const Var>;

bool is_convolution(Op op) { return op.def().name.starts_with("conv"); }

double always(Op op) { return is_convolution(op) ? 1 : 0; }

// Of all regions.
std::size_t count_channels_last(Graph& graph) {
  std::size_t count = 0;
  for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
    const AttrValue* last = graph.op(OpId{id}).attrs().find("channels_last");
    count += last != nullptr && std::get<bool>(*last) ? 1 : 0;
  }
  return count;
}

std::size_t count_convolutions(Graph& graph) {
  std::size_t count = 0;
  for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
    count += is_convolution(graph.op(OpId{id})) ? 1 : 0;
  }
  return count;
}

// Two convolutions with norms around a shortcut: what residual networks consist of.
struct Block {
  Graph graph;
  Var x = graph.input("x", f32, {"n", 16, 9, 7}), v = graph.input("v", f32, {16, 16, 3, 3});
  Var w = graph.input("w", f32, {16, 16, 3, 3}), scale = graph.input("scale", f32, {16});
  Var bias = graph.input("bias", f32, {16});

  Var unit(Var u, Var weight) const {
    return batch_norm(conv(u, weight, {.padding = {1, 1}}), scale, bias).output;
  }
  Var y = relu(unit(relu(unit(x, v)), w) + x);
};

TEST(ChooseLayouts, ABlockIsTransposedAtItsEndsOnly) {
  Block block;
  const GraphCopy forward = apply_pass(choose_layouts, block.graph, {block.y}, always);
  EXPECT_EQ(count_needed(forward, "transpose"), 2U);
  EXPECT_EQ(count_channels_last(*forward.graph), 2U);
  EXPECT_EQ(forward.values[0].shape(), block.y.shape());

  const Var loss = mean(square(block.y));
  const std::vector<Var> grads = grad(loss, {block.x, block.v, block.w, block.scale});
  const GraphCopy both = apply_pass(choose_layouts, block.graph,
                                    {loss, grads[0], grads[1], grads[2], grads[3]}, always);
  EXPECT_EQ(count_needed(both, "transpose"), 2U) << "x, and its gradient";
  EXPECT_EQ(count_channels_last(*both.graph), 6U);
  EXPECT_EQ(count_convolutions(*both.graph), 6U);
}

TEST(ChooseLayouts, WhatSavesNoMoreThanItCostsStays) {
  Block block;
  const Var y = conv(block.x, block.v, {.padding = {1, 1}});
  const GraphCopy copy = apply_pass(choose_layouts, block.graph, {relu(y)}, always);
  EXPECT_EQ(count_needed(copy, "transpose"), 0U);
  EXPECT_EQ(count_channels_last(*copy.graph), 0U);
  const GraphCopy two = apply_pass(choose_layouts, block.graph, {relu(conv(y, block.w))},
                                   [](Op op) { return is_convolution(op) ? 0.25 : 0; });
  EXPECT_EQ(count_channels_last(*two.graph), 0U)
      << "two quarters of two copies each save one, and cost two";
}

TEST(ChooseLayouts, WithoutAGainNothingChanges) {
  Block block;
  const Var loss = mean(square(block.y));
  const std::vector<Var> values = {loss, grad(loss, block.x)};
  const std::string plain = print_text(*copy_graph(block.graph, values, {}).graph);
  for (const LayoutGain& gain :
       {LayoutGain(), LayoutGain([](Op) { return 0; }), LayoutGain([](Op) { return -1; })}) {
    EXPECT_EQ(print_text(*apply_pass(choose_layouts, block.graph, values, gain).graph), plain);
  }
}

TEST(ChooseLayouts, OneConvolutionThatIsSlowerIsLeftOut) {
  Block block;
  const Var u = conv(block.x, block.v), y = conv(conv(relu(u), block.w), block.v);
  const GraphCopy copy = apply_pass(choose_layouts, block.graph, {y}, [&](Op op) {
    return !is_convolution(op) ? 0 : op.output().dim(2) == u.dim(2) ? -5 : 3;
  });
  EXPECT_EQ(count_channels_last(*copy.graph), 2U);
  EXPECT_EQ(count_needed(copy, "transpose"), 2U);
}

TEST(ChooseLayouts, UsersTransposesAreNotDoneTwice) {
  Graph graph;
  const Var x = graph.input("x", f32, {"n", 9, 7, 8}), w = graph.input("w", f32, {8, 8, 3, 3});
  const Var y = relu(conv(relu(conv(transpose(x, {0, 3, 1, 2}), w)), w));
  const GraphCopy copy = apply_pass(choose_layouts, graph, {transpose(y, {0, 2, 3, 1})}, always);
  EXPECT_EQ(count_channels_last(*copy.graph), 2U);
  EXPECT_EQ(count_needed(copy, "transpose"), 2U) << "the user's last one, and its opposite";
  const GraphCopy simpler = run_passes(graph, std::vector<Var>{transpose(y, {0, 2, 3, 1})}, {},
                                       {.level = 3, .layout_gain = always});
  EXPECT_LE(count_needed(simpler, "transpose"), 2U);
}

TEST(ChooseLayouts, InBodies) {
  Graph graph;
  const Var u = graph.input("u", f32, {2, 8, 6, 5}), ws = graph.input("ws", f32, {3, 8, 8, 3, 3});
  const ConvOptions same{.padding = {1, 1}};
  const Var y = chain(u, ws, [&](Var s, Var w) {
                  return s + tanh(conv(relu(conv(s, w, same)), w, same));
                }).last;
  const std::vector<Var> values = {y, grad(sum(square(y)), ws)};
  const GraphCopy copy = apply_pass(choose_layouts, graph, values, always);
  EXPECT_EQ(count_channels_last(*copy.graph), count_convolutions(*copy.graph));
  EXPECT_EQ(count_needed(copy, "transpose"), 0U) << "states keep their layout";
}

// Builds values of these inputs, whose first size is a symbol.
struct Case {
  std::string name;
  std::vector<Shape> inputs;
  std::function<std::vector<Var>(In)> build;
};

std::vector<Var> with_gradients(Var y, In in) {
  const Var loss = sum(square(y) * 0.5 + y);
  std::vector<Var> values = grad(loss, std::vector<Var>(in.begin(), in.end()));
  values.push_back(y);
  return values;
}

std::vector<Case> cases() {
  return {
      {"one axis",
       {{3, 4, 11}, {6, 4, 3}, {5, 6, 2}},
       [](In in) {
         return with_gradients(conv(gelu(conv(in[0], in[1], {.padding = {1}})), in[2]), in);
       }},
      {"three axes, dilated",
       {{2, 3, 5, 4, 6}, {4, 3, 3, 1, 2}, {4, 4, 1, 2, 2}},
       [](In in) {
         const Var y = conv(in[0], in[1], {.stride = {1, 1, 2}, .dilation = {2, 1, 1}});
         return with_gradients(conv(tanh(y), in[2]), in);
       }},
      {"groups",
       {{3, 6, 7, 5}, {6, 1, 3, 3}, {4, 3, 1, 1}},
       [](In in) {
         const Var y = conv(in[0], in[1], {.padding = {1, 1}, .groups = 6});
         return with_gradients(conv(relu(y), in[2], {.groups = 2}), in);
       }},
      {"biases of many shapes",
       {{3, 4, 7, 5}, {4, 4, 3, 3}, {4, 1, 1}, {1, 4, 1, 1}, {4, 5, 3}, {}, {3}},
       [](In in) {
         Var y = relu(conv(in[0], in[1]) + in[2]) * in[3] + in[4];
         y = select(greater(y, 0.1), y * in[5], tanh(y * in[6]));
         return with_gradients(conv(y, in[1], {.padding = {1, 1}}) + in[3], in);
       }},
      {"pools",
       {{3, 4, 13, 11}, {4, 4, 3, 3}},
       [](In in) {
         const Var y = max_pool(conv(in[0], in[1]), {.window = {3, 2}, .padding = {1, 0}});
         const Var z = avg_pool(conv(y, in[1], {.padding = {1, 1}}), {.window = {2, 2}}, false);
         return with_gradients(conv(z, in[1], {.padding = {1, 1}}), in);
       }},
      {"norms",
       {{5, 4, 6, 5}, {4, 4, 3, 3}, {4}, {4}},
       [](In in) {
         const BatchNorm norm = batch_norm(conv(in[0], in[1]), in[2], in[3]);
         const Var y = conv(relu(norm.output), in[1]);
         const Var z = batch_norm_inference(y, in[2], in[3], norm.mean, norm.variance + 1);
         return with_gradients(z, in);
       }},
      {"means and flattened",
       {{3, 4, 7, 5}, {8, 4, 3, 3}, {8, 8, 3, 3}},
       [](In in) {
         const Var y = conv(conv(in[0], in[1]), in[2]);
         const Var means = mean(y, {2, 3}), rows = sum(y, {3}), columns = max(y, {2}, true);
         const Var flat = reshape(y, {y.dim(0), 8 * 3 * 1}), planes = mean(y, {0, 1});
         return with_gradients(sum(means, {1}) + sum(rows, {1, 2}) + sum(columns, {1, 2, 3}) +
                                   sum(flat, {1}) * sum(planes),
                               in);
       }},
      {"transposed convolution and a shortcut",
       {{3, 4, 5, 6}, {4, 4, 2, 2}, {4, 4, 3, 3}},
       [](In in) {
         const Var y = conv_transpose(in[0], in[1], {.stride = {2, 2}});
         const Var z = conv(y, in[2], {.stride = {2, 2}, .padding = {1, 1}});
         return with_gradients(relu(z + in[0]), in);
       }},
      {"one channel and one pixel",
       {{3, 1, 4, 4}, {2, 1, 4, 4}, {3, 2, 1, 1}},
       [](In in) { return with_gradients(conv(relu(conv(in[0], in[1])), in[2]), in); }},
      {"nobody",
       {{0, 4, 7, 5}, {4, 4, 3, 3}},
       [](In in) { return with_gradients(conv(relu(conv(in[0], in[1])), in[1]), in); }},
  };
}

TEST(ChooseLayouts, ComputesTheSame) {
  for (const Case& use : cases()) {
    for (DType dtype : {f32, f64, bf16}) {
      const std::string what = use.name + ", " + std::string(name(dtype));
      Session session;
      Graph graph = session.graph();
      std::vector<Var> in;
      Feeds feeds;
      for (const Shape& shape : use.inputs) {
        std::vector<DimSpec> dims(shape.begin(), shape.end());
        if (in.empty()) {
          dims[0] = "n";
        }
        in.push_back(graph.input("in" + std::to_string(in.size()), dtype, dims));
        feeds["in" + std::to_string(in.size() - 1)] = wave(shape, dtype);
      }
      if (use.inputs.size() > 6) {  // one number per column
        in.back() = reshape(in.back(), {1, 1, 1, 3});
      }
      const std::vector<Var> values = use.build(in);
      const Results plain = session.compile(values, {.compiler = {.level = 0}})(feeds);
      const Executable changed = session.compile(
          values, {.compiler = {.level = 3, .layout_gain = [](Op op) { return 9 * always(op); }}});
      EXPECT_GT(count_channels_last(changed.graph()), 0U) << what;
      const Results got = changed(feeds);
      for (std::size_t i = 0; i < values.size(); ++i) {
        conformance::expect_close(got[i], plain[i], 200 * conformance::epsilon_of(dtype),
                                  what + ", value " + std::to_string(i));
      }
    }
  }
}

// Norms in training wait for the updates of their statistics.
TEST(ChooseLayouts, UpdatesOfStatisticsStay) {
  std::vector<std::map<std::string, Tensor, std::less<>>> states;
  for (const int level : {0, 3}) {
    Session session({.seed = 5});
    Graph graph = session.graph();
    Var y = graph.input("x", f32, {"n", 3, 8, 8});
    for (const char* unit : {"a", "b"}) {
      const ScopeGuard scope(graph, unit);
      y = relu(nn::batch_norm(nn::conv2d(y, 8, {3, 3}), {.training = true}));
    }
    const Var loss = mean(square(y));
    const Executable step = session.compile(
        {loss},
        {.updates = optim::sgd(loss, {.lr = 0.1}),
         .compiler = {.level = level, .layout_gain = [](Op op) { return 9 * always(op); }}});
    EXPECT_EQ(count_channels_last(step.graph()), level == 0 ? 0U : 5U) << "no gradient of x";
    for (int i = 0; i < 3; ++i) {
      step({{"x", wave({4, 3, 8, 8})}});
    }
    states.push_back(session.states().all());
  }
  for (const auto& [name, value] : states[0]) {
    conformance::expect_close(states[1].at(name), value, 1e-4, name);
  }
}

TEST(MinCut, IsTheCheapestWithMostOnTheFirstSide) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t nodes = 3 + random() % 6;
    struct Cost {
      std::size_t from, to;
      std::int64_t cost;
    };
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < 3 * nodes; ++i) {
      costs.push_back(
          {random() % nodes, random() % nodes, static_cast<std::int64_t>(random() % 5)});
    }
    MinCut cut;
    for (std::size_t i = 0; i < nodes; ++i) {
      cut.add_node();
    }
    for (const Cost& cost : costs) {
      cut.add_cost(cost.from, cost.to, cost.cost);
    }
    const std::vector<bool> found = cut.first_side(0, 1);
    const auto price = [&](const auto& is_first) {
      std::int64_t total = 0;
      for (const Cost& cost : costs) {
        total += is_first(cost.from) && !is_first(cost.to) ? cost.cost : 0;
      }
      return total;
    };
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::ptrdiff_t most = 0;
    for (std::uint32_t sides = 0; sides < (1U << nodes); ++sides) {
      const auto is_first = [sides](std::size_t node) { return (sides >> node & 1U) != 0; };
      if (!is_first(0) || is_first(1)) {
        continue;
      }
      const std::ptrdiff_t size = std::popcount(sides);
      const std::int64_t cost = price(is_first);
      most = cost < least ? size : cost == least ? std::max(most, size) : most;
      least = std::min(least, cost);
    }
    EXPECT_EQ(price([&](std::size_t node) { return found[node]; }), least) << round;
    EXPECT_EQ(std::ranges::count(found, true), most) << round;
  }
}

}  // namespace antichain::choose_layouts_test
