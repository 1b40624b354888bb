// How long chains take on a GPU, by multigrid or step by step:
//   bench_gpu_multigrid CASE [--engine=NAME:OPTIONS] [--device=NAME]
// where CASE is one of
//   dense:WIDTH:BATCH:STEPS           u + h tanh(u W + b), weights of every step
//   conv:CHANNELS:SIDE:BATCH:STEPS    u + h tanh(conv(relu(conv(u)))) of 3 x 3
//   gru:STEPS:INPUTS:HIDDEN:LAYERS:BATCH, implicit:... likewise: recurrent layers, a loss of all states
// It prints a line of JSON: milliseconds of the forward pass and of both passes and, for an engine
// that was named, the cosine of its gradient and that of back-propagation. Weights are smooth
// functions of the depth, as those of trained ODE nets are.
#include <cmath>
#include <iostream>
#include <sstream>
#include <string_view>
#include <vector>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "benchmarks/gpu/burst_time.h"
#include "benchmarks/step_models.h"

namespace {

using namespace antichain;

struct Wish {
  std::string kind;
  std::vector<std::int64_t> sizes;
  std::string engine, device = "cuda";
};

std::int64_t parse_number(const std::string& text) {
  std::size_t used = 0;
  const std::int64_t number = std::stoll(text, &used);
  require(used == text.size() && number > 0, "'{}' is no number above 0", text);
  return number;
}

void parse_case(const std::string& text, Wish& wish) {
  std::istringstream parts(text);
  std::getline(parts, wish.kind, ':');
  for (std::string part; std::getline(parts, part, ':');) {
    wish.sizes.push_back(parse_number(part));
  }
  const std::size_t wanted = wish.kind == "dense" ? 3 : wish.kind == "conv" ? 4 : 5;
  require(wish.sizes.size() == wanted, "a case {} has {} sizes, not {}", wish.kind, wanted,
          wish.sizes.size());
}

Wish parse(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](std::string_view name) { return argument.substr(name.size()); };
    if (argument.starts_with("--engine=")) {
      wish.engine = value("--engine=");
    } else if (argument.starts_with("--device=")) {
      wish.device = value("--device=");
    } else {
      require(!argument.starts_with("--"), "unexpected argument '{}'", argument);
      require(wish.kind.empty(), "there is one case, and then '{}'", argument);
      parse_case(argument, wish);
    }
  }
  require(!wish.kind.empty(), "needs a case, such as dense:64:64:1024");
  return wish;
}

// Weights [steps, shape...] that turn slowly from one draw to another along the steps.
Var smooth_weights(Graph& graph, const std::string& name, std::int64_t steps, const Shape& shape,
                   double size) {
  Shape one = {1}, times = {steps};
  one.insert(one.end(), shape.begin(), shape.end());
  times.resize(one.size(), 1);
  const Var draws_first = random_normal(graph, f32, to_dims(one)),
            draws_last = random_normal(graph, f32, to_dims(one));
  const Var time = reshape(cast(iota(graph, i64, steps), f32), to_dims(times)) *
                   (2 / static_cast<double>(steps));
  return parameter(name, size * (cos(time) * draws_first + sin(time) * draws_last));
}

Var dense_states(Graph& graph, const Wish& wish) {
  const std::int64_t width = wish.sizes[0], batch = wish.sizes[1], steps = wish.sizes[2];
  const double h = 5 / static_cast<double>(steps);
  const Var u = graph.input("u", f32, {batch, width});
  const Var w = smooth_weights(graph, "w", steps, {width, width},
                               1 / std::sqrt(static_cast<double>(width))),
            b = smooth_weights(graph, "b", steps, {width}, 0.1);
  return chain({u}, {w, b},
               [&](Var, const Vars& s, const Vars& x) -> StepResult {
                 return {{s[0] + h * tanh(matmul(s[0], x[0]) + x[1])}};
               },
               {.engine = wish.engine})
      .last[0];
}

Var conv_states(Graph& graph, const Wish& wish) {
  const std::int64_t channels = wish.sizes[0], side = wish.sizes[1], batch = wish.sizes[2],
                     steps = wish.sizes[3];
  const double h = 2 / static_cast<double>(steps);
  const double size = 1 / std::sqrt(9 * static_cast<double>(channels));
  const Var u = graph.input("u", f32, {batch, channels, side, side});
  const Shape window = {channels, channels, 3, 3};
  const Var first = smooth_weights(graph, "first", steps, window, size),
            second = smooth_weights(graph, "second", steps, window, size);
  const ConvOptions same = {.padding = {1, 1}};
  return chain({u}, {first, second},
               [&](Var, const Vars& s, const Vars& x) -> StepResult {
                 return {{s[0] + h * tanh(conv(relu(conv(s[0], x[0], same)), x[1], same))}};
               },
               {.engine = wish.engine})
      .last[0];
}

Var recurrent_states(Graph& graph, const Wish& wish) {
  const Var xs = graph.input("u", f32, {wish.sizes[0], wish.sizes[4], wish.sizes[1]});
  const nn::RecurrentOptions options = {.layers = wish.sizes[3], .engine = wish.engine};
  if (wish.kind == "implicit") {
    return nn::implicit_gru(xs, wish.sizes[2], options).all;
  }
  require(wish.kind == "gru", "there is no case '{}'; there are dense, conv, gru and implicit",
          wish.kind);
  return nn::gru(xs, wish.sizes[2], options).all;
}

struct Model {
  Session session;
  Graph graph;
  Var loss;
  Feeds feeds;

  explicit Model(const Wish& wish) : session({.device = wish.device}), graph(session.graph()) {
    const Var states = wish.kind == "dense"  ? dense_states(graph, wish)
                       : wish.kind == "conv" ? conv_states(graph, wish)
                                             : recurrent_states(graph, wish);
    loss = mean(square(states));
    const Var input = graph.inputs()[0].output();
    Shape shape;
    for (Dim dim : input.shape()) {
      shape.push_back(dim.constant());
    }
    Tensor values = Tensor::empty(f32, shape);
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      values.data<float>()[i] = std::sin(0.7F * static_cast<float>(i % 1'000'003));
    }
    feeds = {{"u", session.backend().to_device(values)}};
  }
};

// All gradients that a run has kept.
std::vector<float> kept_gradients(Session& session) {
  std::vector<float> all;
  for (const std::string& name : session.states().names()) {
    if (name.ends_with(".gradient")) {
      const std::vector<float> values = session.states().get(name).to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double product = 0, a_square = 0, b_square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * b[i];
    a_square += static_cast<double>(a[i]) * a[i];
    b_square += static_cast<double>(b[i]) * b[i];
  }
  return product / std::sqrt(a_square * b_square);
}

void measure(const Wish& wish) {
  double forward = 0, both = 0;
  std::vector<float> found;
  {
    Model model(wish);
    forward = bench::burst_milliseconds(model.session.compile({model.loss}), model.feeds);
    const Executable step =
        model.session.compile({model.loss}, {.updates = bench::keep_gradients(model.loss)});
    both = bench::burst_milliseconds(step, model.feeds);
    if (!wish.engine.empty()) {
      found = kept_gradients(model.session);
    }
  }
  std::cout << "{\"forward\": " << forward << ", \"both\": " << both;
  if (!wish.engine.empty()) {
    Wish serial = wish;
    serial.engine.clear();
    Model model(serial);
    model.session.compile({model.loss},
                          {.updates = bench::keep_gradients(model.loss)})(model.feeds);
    std::cout.precision(10);
    std::cout << ", \"cosine\": " << cosine(found, kept_gradients(model.session));
  }
  std::cout << '}' << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_multigrid: " << error.what() << std::endl;
    return 2;
  }
}
