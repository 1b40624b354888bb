// Gradients of chains: step by step and by a scan, over the number of steps.
//
// Two models, each a training step without its optimiser: a gated linear recurrence, whose
// Jacobians are diagonals, and a tanh RNN, whose Jacobians are matrices. The counter "scan gain" is
// what the scan is faster by. "newton" is the RNN whose states Newton's method finds, too.
#include <cmath>

#include "antichain/antichain.h"
#include "benchmarks/against.h"
#include "benchmarks/machine.h"

namespace antichain::bench {
namespace {

constexpr std::int64_t kMostNumbers =
    50'000'000;  // of one value: a training step keeps ten of them

struct Model {
  const char* name;
  std::int64_t batch, hidden;
  // With an engine, or step by step in both directions without.
  std::function<Var(Var xs, std::int64_t hidden, const std::string& engine)> loss;
};

std::vector<Model> models() {
  const auto min_gru = [](Var xs, std::int64_t hidden, const std::string& engine) {
    return mean(square(nn::min_gru(xs, hidden, {.engine = engine})));
  };
  const auto rnn = [](Var xs, std::int64_t hidden, const std::string& engine) {
    return mean(square(nn::rnn(xs, hidden, {.engine = engine}).last));
  };
  const auto newton = [](Var xs, std::int64_t hidden, const std::string& engine) {
    const std::string with_newton = engine.empty() ? engine : engine + ":forward=newton";
    return mean(square(nn::rnn(xs, hidden, {.engine = with_newton}).last));
  };
  return {{"min_gru B=16 h=64", 16, 64, min_gru},   {"min_gru B=16 h=256", 16, 256, min_gru},
          {"min_gru B=64 h=256", 64, 256, min_gru}, {"min_gru B=1 h=16", 1, 16, min_gru},
          {"rnn B=16 h=20", 16, 20, rnn},           {"rnn B=1 h=4", 1, 4, rnn},
          {"newton B=1 h=4", 1, 4, newton}};
}

// One model with one engine, ready to run.
class Step {
 public:
  Step(const Model& model, std::int64_t steps, const std::string& engine) {
    Graph graph = session_.graph();
    const Shape shape = {steps, model.batch, 8};
    const Var xs = graph.input("xs", f32, {shape.begin(), shape.end()});
    const Var loss = model.loss(xs, model.hidden, engine);
    run_.emplace(session_.compile(grad(loss, parameters(graph))));
    const Tensor xs_values = Tensor::empty(f32, shape);
    for (std::int64_t i = 0; i < xs_values.numel(); ++i) {
      xs_values.data<float>()[i] = std::sin(0.7F * static_cast<float>(i % 10'007));
    }
    feeds_["xs"] = xs_values;
  }
  void run() { (*run_)(feeds_); }

 private:
  Session session_;
  std::optional<Executable> run_;
  Feeds feeds_;
};

void compare(benchmark::State& state, const Model& model, std::int64_t steps) {
  Step scan(model, steps, "scan"), serial(model, steps, "");
  const BestTimes best = run_in_turns(
      state, [&] { scan.run(); }, [&] { serial.run(); });
  state.counters["scan us"] = best.ours * 1e6;
  state.counters["step by step us"] = best.theirs * 1e6;
  state.counters["scan gain"] = best.theirs / best.ours;
}

void register_all() {
  for (const Model& model : models()) {
    for (const std::int64_t steps : {10, 100, 1000, 10'000}) {
      if (steps * model.batch * model.hidden > kMostNumbers) {
        continue;
      }
      benchmark::RegisterBenchmark(
          (std::string(model.name) + "/" + std::to_string(steps)).c_str(),
          [model, steps](benchmark::State& state) { compare(state, model, steps); })
          ->UseManualTime();
    }
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_all);
}
