// Sparse Jacobians of VGG-11 on CIFAR-10: how sparse they are, how long they take, and what a scan
// over them costs. Prints one JSON object per line, which scripts/jacobian_table makes a page of.
#include <fmt/core.h>

#include <chrono>
#include <functional>

#include "antichain/antichain.h"
#include "antichain/engines/scan/jacobian_rules.h"
#include "antichain/engines/scan/sweep.h"
#include "antichain/ops/scans/affine_scan.h"
#include "benchmarks/vgg_jacobians.h"

namespace antichain::bench {
namespace {

constexpr int kRuns = 7;
constexpr double kKept = 0.03;  // of the weights, by Wang, Bai and Pekhimenko (2020)

double fastest_seconds(const std::function<void()>& f) {
  double fastest = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, taken.count());
  }
  return fastest;
}

// One of the first ops of the network, on one image.
struct FirstOp {
  std::string name;
  Shape x;
  std::function<Var(Graph&, Var)> build;
};

std::vector<FirstOp> first_ops() {
  return {{"conv",
           {1, 3, 32, 32},
           [](Graph& graph, Var x) {
             return conv(x, graph.input("weight", f32, {64, 3, 3, 3}), {.padding = {1, 1}});
           }},
          {"relu", {1, 64, 32, 32}, [](Graph&, Var x) { return relu(x); }},
          {"pool", {1, 64, 32, 32}, [](Graph&, Var x) {
             return max_pool(x, {.window = {2, 2}});
           }}};
}

// The values by rule, and by as many gradients along unit vectors as y has numbers; the time of all
// of these is that of one times their number.
void measure(const FirstOp& op) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {op.x.begin(), op.x.end()});
  const Var y = op.build(graph, x);
  Feeds feeds{{"x", Tensor::full(f32, op.x, 0.5)}};
  if (op.name == "conv") {
    feeds["weight"] = Tensor::full(f32, {64, 3, 3, 3}, 0.1);
  }
  const auto start = std::chrono::steady_clock::now();
  const scan::SparseJacobian jacobian = scan::find_jacobian(y.producer(), {0})();
  const std::chrono::duration<double> pattern_taken = std::chrono::steady_clock::now() - start;
  const Executable values = session.compile({jacobian.matrix.values});
  const double by_rule = fastest_seconds([&] { values(feeds); });

  const Var direction = graph.input("direction", f32, {y.shape().begin(), y.shape().end()});
  const Executable one = session.compile(vjp({y}, {direction}, {x}));
  Shape shape = evaluate(y.shape(), {});
  Tensor unit = Tensor::zeros(f32, shape);
  unit.data<float>()[0] = 1;
  feeds["direction"] = unit;
  const double by_unit_vectors =
      fastest_seconds([&] { one(feeds); }) * static_cast<double>(numel(shape));
  fmt::print(
      "{{\"table\": \"generation\", \"op\": \"{}\", \"rows\": {}, \"columns\": {}, "
      "\"stored\": {}, \"sparsity\": {:.5f}, \"pattern_seconds\": {:.6g}, "
      "\"values_seconds\": {:.6g}, \"unit_vectors_seconds\": {:.6g}}}\n",
      op.name, jacobian.pattern->rows(), jacobian.pattern->num_columns, jacobian.pattern->stored(),
      jacobian.pattern->sparsity(), pattern_taken.count(), by_rule, by_unit_vectors);
}

// From the last op to the second: nobody asks for the gradient of the image.
std::vector<scan::CsrPattern> pruned_network() {
  std::vector<scan::CsrPattern> jacobians;
  std::vector<StagePattern> stages = vgg11_patterns(kKept);
  for (std::size_t i = stages.size(); i-- > 1;) {
    jacobians.push_back(std::move(stages[i].pattern));
  }
  return jacobians;
}

// The numeric part for one example, with values that are fed.
double seconds_of(const scan::Sweep& plan, const std::vector<scan::CsrPattern>& patterns) {
  Session session;
  Graph graph = session.graph();
  std::vector<scan::SparseJacobian> jacobians;
  Feeds feeds{{"gradient", Tensor::full(f32, {1, patterns[0].num_columns}, 1)}};
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string name = "values" + std::to_string(i);
    const std::int64_t stored = patterns[i].stored();
    jacobians.push_back(scan::make_jacobian(patterns[i], graph.input(name, f32, {1, stored})));
    feeds[name] = Tensor::full(f32, {1, stored}, 0.1);
  }
  const Var gradient = graph.input("gradient", f32, {1, patterns[0].num_columns});
  const Executable run = session.compile(scan::swept(plan, std::move(jacobians), gradient));
  return fastest_seconds([&] { run(feeds); });
}

void count(const char* algorithm, std::int64_t chunk) {
  constexpr std::int64_t kMeasured = 1'000'000'000;  // operations: more would take a while
  const std::vector<scan::CsrPattern> jacobians = pruned_network();
  const scan::Sweep sweep = scan::plan_sweep(static_cast<int>(jacobians.size()), algorithm, chunk);
  const scan::SweepCost cost = scan::count_operations(sweep, jacobians);
  const std::string seconds =
      cost.total < kMeasured ? fmt::format("{:.6g}", seconds_of(sweep, jacobians)) : "null";
  fmt::print(
      "{{\"table\": \"operations\", \"algorithm\": \"{}\", \"chunk\": {}, \"stages\": {}, "
      "\"depth\": {}, \"largest\": {}, \"critical\": {}, \"total\": {}, \"stored\": {}, "
      "\"seconds\": {}}}\n",
      algorithm, chunk, jacobians.size(), sweep.depth(), cost.largest, cost.critical, cost.total,
      cost.stored, seconds);
}

}  // namespace
}  // namespace antichain::bench

int main() {
  using namespace antichain;
  for (const auto& op : bench::first_ops()) {
    bench::measure(op);
  }
  bench::count(kScanSerial, 0);
  for (const std::int64_t chunk : {2, 4, 8}) {
    bench::count(kScanHybrid, chunk);
  }
  bench::count(kScanBlelloch, 0);
}
