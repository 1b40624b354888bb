// Element-wise ops, reductions and row-wise ops: what share of the bandwidth of a copy they reach.
#include "antichain/antichain.h"
#include "benchmarks/against.h"
#include "benchmarks/machine.h"
#include "benchmarks/op_case.h"

namespace antichain::bench {
namespace {

struct BandwidthOp {
  const char* name;
  int inputs;  // of the element type
  OpCase::Build build;
  bool condition = false;  // whether a bool comes before them
};

using Vars = std::vector<Var>;

std::vector<BandwidthOp> bandwidth_ops() {
  return {
      {"add", 2, [](Graph&, const Vars& x) { return x[0] + x[1]; }},
      {"multiply by scalar", 1, [](Graph&, const Vars& x) { return x[0] * 1.5; }},
      {"relu", 1, [](Graph&, const Vars& x) { return relu(x[0]); }},
      {"exp", 1, [](Graph&, const Vars& x) { return exp(x[0]); }},
      {"tanh", 1, [](Graph&, const Vars& x) { return tanh(x[0]); }},
      {"sigmoid", 1, [](Graph&, const Vars& x) { return sigmoid(x[0]); }},
      {"gelu", 1, [](Graph&, const Vars& x) { return gelu(x[0]); }},
      {"less", 2, [](Graph&, const Vars& x) { return less(x[0], x[1]); }},
      {"select", 2, [](Graph&, const Vars& x) { return select(x[0], x[1], x[2]); }, true},
      {"cast", 1,
       [](Graph&, const Vars& x) { return cast(x[0], x[0].dtype() == f32 ? bf16 : f32); }},
      {"sum all", 1, [](Graph&, const Vars& x) { return sum(x[0]); }},
      {"sum rows", 1, [](Graph&, const Vars& x) { return sum(x[0], {1}); }},
      {"sum columns", 1, [](Graph&, const Vars& x) { return sum(x[0], {0}); }},
      {"max rows", 1, [](Graph&, const Vars& x) { return max(x[0], {1}); }},
      {"softmax", 1, [](Graph&, const Vars& x) { return softmax(x[0], 1); }},
      {"transpose", 1, [](Graph&, const Vars& x) { return transpose(x[0]); }},
  };
}

void run(benchmark::State& state, const BandwidthOp& op, DType dtype, std::int64_t bytes) {
  const std::int64_t columns = 1024;
  const std::int64_t rows = bytes / columns / static_cast<std::int64_t>(size_of(dtype));
  std::vector<CaseInput> inputs(static_cast<std::size_t>(op.inputs), {dtype, {rows, columns}});
  if (op.condition) {
    inputs.insert(inputs.begin(), {boolean, {rows, columns}});
  }
  OpCase use(inputs, op.build);
  // As many bytes are moved by copying one buffer of half of them into another.
  const double ceiling = copy_bandwidth(static_cast<std::int64_t>(use.bytes()) / 2);
  double best = std::numeric_limits<double>::infinity();
  for (auto step : state) {
    static_cast<void>(step);
    const auto start = std::chrono::steady_clock::now();
    use.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  state.counters["GB/s"] = use.bytes() / best * 1e-9;
  state.counters["copy GB/s"] = ceiling * 1e-9;
  state.counters["of copy"] = use.bytes() / best / ceiling;
}

void register_bandwidth() {
  for (const BandwidthOp& op : bandwidth_ops()) {
    for (DType dtype : {f32, bf16}) {
      for (std::int64_t mebibytes : {1, 8, 64}) {
        const std::string name =
            fmt::format("{}/{}/{}MiB", op.name, antichain::name(dtype), mebibytes);
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { run(state, op, dtype, mebibytes << 20); })
            ->UseRealTime()
            ->MinTime(0.1);
      }
    }
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_bandwidth);
}
