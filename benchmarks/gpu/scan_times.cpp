// How long walks through recurrent layers take on a GPU:
//   bench_gpu_scan CELL STEPS BATCH UNITS [--engine=NAME] [--device=NAME] [--errors] [--chunk=N]
// prints a line of JSON: milliseconds of the forward pass as training has it, which keeps all
// states, of the forward pass by itself, and of both passes. CELL is rnn, gru or lstm; the loss is
// of the last state, as for bitstreams (docs/design/scan.md). With --errors it prints instead how
// far gradients are from those that back-propagation finds in f64 on the CPU.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <string_view>
#include <vector>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/recurrent.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/gradient_step.h"
#include "antichain/session/session.h"
#include "benchmarks/gpu/burst_time.h"
#include "benchmarks/step_models.h"

namespace {

using namespace antichain;

struct Wish {
  std::string cell;
  std::int64_t steps = 0, batch = 0, units = 0, chunk = 0;
  std::string engine = "scan", device = "cuda";
  bool errors = false;
};

std::int64_t parse_number(const std::string& text) {
  std::size_t used = 0;
  const std::int64_t number = std::stoll(text, &used);
  require(used == text.size() && number > 0, "'{}' is no number above 0", text);
  return number;
}

Wish parse(int argc, char** argv) {
  Wish wish;
  std::vector<std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](std::string_view name) { return argument.substr(name.size()); };
    if (argument.starts_with("--engine=")) {
      wish.engine = value("--engine=");
    } else if (argument.starts_with("--device=")) {
      wish.device = value("--device=");
    } else if (argument.starts_with("--chunk=")) {
      wish.chunk = parse_number(value("--chunk="));
    } else if (argument == "--errors") {
      wish.errors = true;
    } else {
      require(!argument.starts_with("--"), "unexpected argument '{}'", argument);
      given.push_back(argument);
    }
  }
  require(given.size() == 4, "needs CELL STEPS BATCH UNITS, got {} of them", given.size());
  wish.cell = given[0];
  wish.steps = parse_number(given[1]);
  wish.batch = parse_number(given[2]);
  wish.units = parse_number(given[3]);
  return wish;
}

nn::Recurrent layer_of(const Wish& wish, Var xs, const std::string& engine) {
  const nn::RecurrentOptions options{.engine = engine};
  if (wish.cell == "rnn") {
    return nn::rnn(xs, wish.units, options);
  }
  if (wish.cell == "gru") {
    return nn::gru(xs, wish.units, options);
  }
  require(wish.cell == "lstm", "there is no cell '{}'; there are rnn, gru and lstm", wish.cell);
  return nn::lstm(xs, wish.units, options);
}

struct Model {
  Session session;
  Graph graph;
  Var loss, states;
  std::vector<Var> parameters;

  Model(const Wish& wish, const std::string& engine, const std::string& device, DType dtype)
      : session({.device = device,
                 .engines = {{"scan",
                              {{"when", "faster"},
                               {"algorithm", wish.chunk > 0 ? "chunked" : "auto"},
                               {"chunk", wish.chunk}}}}}),
        graph(session.graph()) {
    const Var xs = graph.input("xs", dtype, {wish.steps, wish.batch, 1});
    const nn::Recurrent layer = layer_of(wish, xs, engine);
    loss = sum(square(layer.last));
    states = layer.all;
    parameters = optim::trained_parameters("bench_gpu_scan", loss, {});
  }
};

Tensor inputs_of(const Wish& wish, DType dtype) {
  Tensor bits = Tensor::empty(f32, {wish.steps, wish.batch, 1});
  for (std::int64_t i = 0; i < bits.numel(); ++i) {
    bits.data<float>()[i] = std::sin(0.1F * static_cast<float>(i % 1'000'003)) > 0.3F ? 1 : 0;
  }
  return bits.cast(dtype);
}

void measure(const Wish& wish) {
  Model model(wish, wish.engine, wish.device, f32);
  const Feeds feeds = {{"xs", model.session.backend().to_device(inputs_of(wish, f32))}};
  const double alone = bench::burst_milliseconds(model.session.compile({model.loss}), feeds);
  buffer("states", zeros(model.graph, f32, model.states.shape()));
  const double forward = bench::burst_milliseconds(
      model.session.compile({model.loss},
                            {.updates = {assign(model.graph, "states", model.states)}}),
      feeds);
  const double step = bench::burst_milliseconds(
      model.session.compile({model.loss}, {.updates = bench::keep_gradients(model.loss)}), feeds);
  std::cout << "{\"forward\": " << forward << ", \"alone\": " << alone << ", \"both\": " << step
            << '}' << std::endl;
}

std::vector<Tensor> gradients(const Wish& wish, const std::string& engine,
                              const std::string& device, DType dtype,
                              const std::vector<Tensor>& values) {
  Model model(wish, engine, device, dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    model.session.states().set(state_name(model.parameters[i]), values[i].cast(dtype));
  }
  return model.session.compile(grad(model.loss, model.parameters))({{"xs", inputs_of(wish, dtype)}})
      .tensors();
}

void compare(const Wish& wish) {
  Model model(wish, wish.engine, wish.device, f32);
  std::vector<Tensor> values = model.session.compile(model.parameters)({}).tensors();
  for (Tensor& value : values) {
    value = value.clone();
  }
  const std::vector<Tensor> exact = gradients(wish, "backprop", "cpu", f64, values);
  const auto error_of = [&](const std::string& engine, const std::string& device) {
    const std::vector<Tensor> found = gradients(wish, engine, device, f32, values);
    double worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const std::vector<double> a = exact[i].to_vector<double>(),
                                b = found[i].cast(f64).to_vector<double>();
      double largest = 0, difference = 0;
      for (std::size_t n = 0; n < a.size(); ++n) {
        largest = std::max(largest, std::abs(a[n]));
        difference = std::max(difference, std::abs(a[n] - b[n]));
      }
      worst = std::max(worst, largest > 0 ? difference / largest : 0);
    }
    return worst;
  };
  std::cout << "{\"error\": " << error_of(wish.engine, wish.device)
            << ", \"serial_error\": " << error_of("backprop", "cpu") << '}' << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Wish wish = parse(argc, argv);
    (wish.errors ? compare : measure)(wish);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_scan: " << error.what() << std::endl;
    return 2;
  }
}
