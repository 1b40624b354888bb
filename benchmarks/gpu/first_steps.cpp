// How long the first training step takes on a GPU, and what it spends its time on:
//   bench_gpu_first_steps [case]
//   bench_gpu_first_steps --list
// Prints JSON. Where nothing is to be remembered, $ANTICHAIN_CACHE is a new folder and the case has
// a process of its own: benchmarks/gpu/run_first_steps.
#include <chrono>
#include <iostream>
#include <memory>
#include <vector>

#include "antichain/backends/cuda/prepared_parts.h"
#include "benchmarks/training_steps.h"

namespace {

using namespace antichain;

std::vector<bench::StepCase> first_steps() {
  const auto gpt = [](std::int64_t batch) {
    return bench::gpt(batch,
                      {.steps = 256, .width = 384, .heads = 6, .layers = 6, .vocabulary = 256});
  };
  const auto transformer = [](std::int64_t batch) {
    return bench::transformer(batch, 512, 512, 8, bench::keep_gradients);
  };
  const auto mlp = [](std::int64_t batch) {
    return bench::mlp(batch, {1024, 1024, 10}, bench::adam);
  };
  const auto gru = [](std::int64_t batch) { return bench::gru(128, batch, 512, 512); };
  return {{"gpt", 16, gpt},
          {"gpt bf16", 16, gpt, bf16},
          {"mobilenet", 128, bench::mobilenet},
          {"mobilenet bf16", 128, bench::mobilenet, bf16},
          {"resnet18", 128, bench::resnet},
          {"resnet18 bf16", 128, bench::resnet, bf16},
          {"transformer", 32, transformer, bf16},
          {"mlp", 128, mlp},
          {"gru", 64, gru}};
}

class Watch {
 public:
  // Returns the seconds since it was last asked.
  double lap() {
    const Clock::time_point before = last_;
    last_ = Clock::now();
    return std::chrono::duration<double>(last_ - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

void measure(const bench::StepCase& step) {
  bench::StepModel model = step.model(step.batch);
  Watch watch;
  const std::unique_ptr<Session> session = step.session("cuda");
  std::cout << "{\"session\": " << watch.lap();
  Graph graph = session->graph();
  const Var loss = model.loss(graph, step.precision);
  const std::vector<Var> updates = model.optimiser(loss);
  std::cout << ", \"graph\": " << watch.lap();
  const Executable train = session->compile({loss}, {.updates = updates});
  std::cout << ", \"compile\": " << watch.lap();
  train(model.feeds).wait();
  std::cout << ", \"first\": " << watch.lap();
  train(model.feeds).wait();
  std::cout << ", \"second\": " << watch.lap() << ", \"steps\": " << train.num_steps()
            << ", \"parts\": {";
  const char* before = "";
  for (const PreparedPart& part : cuda_prepared_parts(session->backend().device().index)) {
    std::cout << before << '"' << part.what << "\": {\"count\": " << part.count
              << ", \"seconds\": " << part.seconds << ", \"elapsed\": " << part.elapsed << '}';
    before = ", ";
  }
  std::cout << "}}" << std::endl;
}

int run(const std::string& wish) {
  for (const bench::StepCase& step : first_steps()) {
    if (wish == "--list") {
      std::cout << step.name << '\n';
    } else if (wish == step.name) {
      measure(step);
      return 0;
    }
  }
  require(wish == "--list", "there is no case '{}'; --list shows them", wish);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc == 2 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_first_steps: " << error.what() << std::endl;
    return 1;
  }
}
