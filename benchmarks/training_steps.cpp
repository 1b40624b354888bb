#include "benchmarks/training_steps.h"

#include <utility>

namespace antichain::bench {

std::unique_ptr<Session> StepCase::session(const std::string& device) const {
  return std::make_unique<Session>(SessionOptions{.device = device, .tf32 = tf32});
}

TrainingStep StepCase::make(const CompilerOptions& options, const std::string& device) const {
  StepModel made = model(batch);
  std::unique_ptr<Session> own = session(device);
  Graph graph = own->graph();
  const Var loss = made.loss(graph, precision);
  Executable executable =
      own->compile({loss}, {.updates = made.optimiser(loss), .compiler = options});
  return {std::move(own), std::move(executable), std::move(made.feeds)};
}

std::vector<StepCase> training_steps() {
  const auto wide_mlp = [](std::int64_t batch) { return mlp(batch, {1024, 1024, 10}, adam); };
  const auto block = [](std::int64_t batch) { return transformer(batch, 1024, 768, 12, adam); };
  const auto small_gpt = [](std::int64_t batch) {
    return gpt(batch, {.steps = 128, .width = 128, .heads = 4, .layers = 4, .vocabulary = 256});
  };
  return {
      {"mlp 784-512-512-10 B=128 sgd", 128,
       [](std::int64_t batch) {
         return mlp(batch, {512, 512, 10}, sgd);
       }},
      {"mlp 784-1024-1024-10 B=128 adam", 128, wide_mlp},
      {"mlp 784-1024-1024-10 B=8192 adam", 8192, wide_mlp},
      {"mlp 784-1024-1024-10 B=8192 adam bf16", 8192, wide_mlp, bf16},
      {"gru T=128 B=64 inputs=9 h=64", 64,
       [](std::int64_t batch) { return gru(128, batch, 9, 64); }},
      {"gru T=128 B=64 inputs=512 h=512", 64,
       [](std::int64_t batch) { return gru(128, batch, 512, 512); }},
      {"gcn nodes=2708 inputs=1433 h=16 adam", kCora.nodes,
       [](std::int64_t) { return gcn(kCora, 16); }},
      {"resnet18 32x32 B=64", 64, resnet},
      {"resnet18 32x32 B=64 bf16", 64, resnet, bf16},
      {"transformer d=768 heads=12 T=1024 B=8 adam", 8, block},
      {"transformer d=768 heads=12 T=1024 B=8 adam bf16", 8, block, bf16},
      {"gpt d=128 layers=4 heads=4 T=128 B=4 adam", 4, small_gpt},
  };
}

std::vector<StepCase> branching_steps() {
  return {
      {"2 towers of 8 layers, 64 wide, B=32", 32,
       [](std::int64_t batch) { return towers(2, 8, 64, batch); }},
      {"4 towers of 4 layers, 128 wide, B=64", 64,
       [](std::int64_t batch) { return towers(4, 4, 128, batch); }},
      {"2 towers of 4 layers, 1024 wide, B=256", 256,
       [](std::int64_t batch) { return towers(2, 4, 1024, batch); }},
      {"gru both ways T=64 B=16 inputs=16 h=32", 16,
       [](std::int64_t batch) { return gru_both_ways(64, batch, 16, 32); }},
      {"gru both ways T=128 B=64 inputs=64 h=256", 64,
       [](std::int64_t batch) { return gru_both_ways(128, batch, 64, 256); }},
  };
}

}  // namespace antichain::bench
