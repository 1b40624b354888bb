// The primitives that likelihood-ratio training is made of, as products for tensor cores and as they
// are (fully connected layers, convolutions, activations, Hadamard products):
//   bench_gpu_primitives [--device=NAME] [--quick]
// prints a line of JSON. Every way is a graph that Antichain compiles; its time is that of its ops
// without the copy of the result to where it stays, the fastest of a few runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string_view>
#include <vector>

#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"

namespace {

using namespace antichain;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTile = 16;  // rows and columns of what tensor cores multiply at once

struct Way {
  std::string name;
  std::vector<Shape> inputs;
  std::function<Var(const std::vector<Var>&)> build;
  DType dtype = bf16;
  bool tf32 = false;
};

struct Primitive {
  std::string name;
  double flops, values;  // that must be; numbers read and written
  std::vector<Way> ways;
};

// Times ops by waiting for each: what a wait takes by itself is taken off.
class OpTimes final : public RunObserver {
 public:
  explicit OpTimes(const Backend& backend) : backend_(backend), small_(backend.allocate(f32, {1})) {
    constexpr int kWaits = 20;
    wait();
    for (int i = 0; i < kWaits; ++i) {
      const Clock::time_point before = last_;
      wait();
      const double seconds = since(before);
      idle_ = i == 0 ? seconds : std::min(idle_, seconds);
    }
  }

  void ran(const OpEvent& event) override {
    const Clock::time_point before = last_;
    wait();
    if (&event.op.def() != &assign_def()) {
      seconds_ += std::max(since(before) - idle_, 0.0);
    }
  }
  double seconds() const { return seconds_; }

 private:
  void wait() {
    static_cast<void>(backend_.to_host(small_));
    last_ = Clock::now();
  }
  double since(Clock::time_point before) const {
    return std::chrono::duration<double>(last_ - before).count();
  }

  const Backend& backend_;
  Tensor small_;
  Clock::time_point last_;
  double idle_ = 0, seconds_ = 0;
};

// Values of both signs.
Tensor values_of(DType dtype, const Shape& shape) {
  Tensor values = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.data<float>()[i] = static_cast<float>(i % 13 - 6) / 8;
  }
  return values.cast(dtype);
}

double seconds_of(const Way& way, const std::string& device) {
  constexpr int kWarmUp = 3, kRuns = 7;
  Session session({.device = device, .tf32 = way.tf32});
  Graph graph = session.graph();
  std::vector<Var> inputs;
  Feeds feeds;
  for (const Shape& shape : way.inputs) {
    const std::string name = fmt::format("x{}", inputs.size());
    inputs.push_back(graph.input(name, way.dtype, {shape.begin(), shape.end()}));
    feeds[name] = session.backend().to_device(values_of(way.dtype, shape));
  }
  const Var result = way.build(inputs);
  buffer("result", zeros(graph, result.dtype(), result.shape()));  // so that it stays on the device
  const Executable run =
      session.compile({scalar(graph, f32, 0)}, {.updates = {assign(graph, "result", result)}});
  for (int i = 0; i < kWarmUp; ++i) {
    run(feeds);
  }
  double fastest = 0;
  for (int i = 0; i < kRuns; ++i) {
    OpTimes times(session.backend());
    run.run(feeds, {&times});
    fastest = i == 0 ? times.seconds() : std::min(fastest, times.seconds());
  }
  return fastest;
}

// A matrix with the values on its diagonal for each tile of them.
Var diagonals(Var values) {
  const Var row = iota(values.graph(), i64, kTile), column = expand_dims(row, 1);
  return expand_dims(values, -1) * cast(equal(row, column), values.dtype());
}

Primitive hadamard(std::int64_t tiles) {
  const Shape rows = {tiles, kTile}, columns = {tiles, kTile, 1};
  return {"Hadamard product",
          static_cast<double>(tiles * kTile),
          3.0 * static_cast<double>(tiles * kTile),
          {{"element by element", {rows, rows}, [](const auto& in) { return in[0] * in[1]; }},
           {"diagonal tiles, made and multiplied",
            {rows, columns},
            [](const auto& in) { return matmul(diagonals(in[0]), in[1]); }},
           {"diagonal tiles that are there", {{tiles, kTile, kTile}, columns}, [](const auto& in) {
              return matmul(in[0], in[1]);
            }}}};
}

// The best case for tiles: one factor for sixteen columns.
Primitive scaling(std::int64_t tiles) {
  const Shape factors = {tiles, kTile}, matrices = {tiles, kTile, kTile};
  const double values = static_cast<double>(tiles * kTile * kTile);
  return {"scaling of rows",
          values,
          values * (2 + 1.0 / kTile),
          {{"element by element",
            {factors, matrices},
            [](const auto& in) { return expand_dims(in[0], -1) * in[1]; }},
           {"diagonal tiles, made and multiplied", {factors, matrices}, [](const auto& in) {
              return matmul(diagonals(in[0]), in[1]);
            }}}};
}

Primitive activation(std::int64_t tiles) {
  const Shape columns = {tiles, kTile, 1};
  const double values = static_cast<double>(tiles * kTile);
  return {"activation (relu)",
          values,
          2 * values,
          {{"element by element", {columns}, [](const auto& in) { return relu(in[0]); }},
           {"mask as diagonal tiles", {columns}, [](const auto& in) {
              const Var x = reshape(in[0], {in[0].dim(0), kTile});
              return matmul(diagonals(cast(greater(x, 0), x.dtype())), in[0]);
            }}}};
}

Var product(const std::vector<Var>& in) { return matmul(in[0], in[1]); }

Primitive fused_activation(std::int64_t n) {
  const std::vector<Shape> square = {{n, n}, {n, n}};
  const double size = static_cast<double>(n);
  return {"fully connected with activation",
          2 * size * size * size,
          3 * size * size,
          {{"product alone", square, product},
           {"product and relu", square, [](const auto& in) { return relu(product(in)); }}}};
}

Primitive fully_connected(std::int64_t n) {
  const std::vector<Shape> square = {{n, n}, {n, n}};
  const double size = static_cast<double>(n);
  return {"fully connected",
          2 * size * size * size,
          3 * size * size,
          {{"tensor cores, bf16", square, product},
           {"tensor cores, tf32", square, product, f32, true},
           {"CUDA cores, f32", square, product, f32}}};
}

Primitive summed_products(std::int64_t n) {
  const std::vector<Shape> square = {{n, n}, {n, n}};
  const double size = static_cast<double>(n);
  return {"small fully connected",
          2 * size * size * size,
          3 * size * size,
          {{"tensor cores, bf16", square, product},
           {"element by element, and summed", square, [](const auto& in) {
              return sum(expand_dims(in[0], 1) * expand_dims(transpose(in[1]), 0), {2});
            }}}};
}

Primitive convolution(std::int64_t examples) {
  constexpr std::int64_t kChannels = 128, kSide = 32, kWindow = 3;
  const std::vector<Shape> inputs = {{examples, kChannels, kSide, kSide},
                                     {kChannels, kChannels, kWindow, kWindow}};
  const double image = static_cast<double>(examples * kSide * kSide);
  const auto convolved = [](const std::vector<Var>& in) {
    return conv(in[0], in[1], {.padding = {1, 1}});
  };
  return {"convolution",
          2 * image * kChannels * kChannels * kWindow * kWindow,
          2 * image * kChannels + kChannels * kChannels * kWindow * kWindow,
          {{"tensor cores, bf16", inputs, convolved},
           {"tensor cores, tf32", inputs, convolved, f32, true},
           {"CUDA cores, f32", inputs, convolved, f32}}};
}

std::vector<Primitive> primitives(bool quick) {
  const std::int64_t values = quick ? 1 << 12 : 1 << 25, wide = quick ? 64 : 4096;
  return {fully_connected(wide),
          summed_products(quick ? 32 : 1024),
          convolution(quick ? 1 : 128),
          fused_activation(wide),
          activation(values / kTile),
          hadamard(values / kTile),
          scaling(values / (kTile * kTile))};
}

// Ways that do not run say so in their place.
std::string measured(const Primitive& primitive, const Way& way, const std::string& device) {
  try {
    const double seconds = std::max(seconds_of(way, device), 1e-9);
    const double bytes = primitive.values * static_cast<double>(size_of(way.dtype));
    return fmt::format(
        R"({{"name": "{}", "milliseconds": {}, "gigabytes_per_second": {}, "teraflops": {}}})",
        way.name, 1e3 * seconds, bytes / seconds / 1e9, primitive.flops / seconds / 1e12);
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_primitives: " << primitive.name << ", " << way.name << ": "
              << error.what() << std::endl;
    return fmt::format(R"({{"name": "{}", "reason": "it did not run"}})", way.name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string device = "cuda";
    bool quick = false;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      constexpr std::string_view kDevice = "--device=";
      if (argument.starts_with(kDevice)) {
        device = argument.substr(kDevice.size());
      } else {
        require(argument == "--quick", "unexpected argument '{}'", argument);
        quick = true;
      }
    }
    std::string all;
    for (const Primitive& primitive : primitives(quick)) {
      std::string ways;
      for (const Way& way : primitive.ways) {
        ways += (ways.empty() ? "" : ", ") + measured(primitive, way, device);
      }
      all += fmt::format(R"({}{{"name": "{}", "ways": [{}]}})", all.empty() ? "" : ", ",
                         primitive.name, ways);
    }
    std::cout << "{\"primitives\": [" << all << "]}" << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_primitives: " << error.what() << std::endl;
    return 2;
  }
}
