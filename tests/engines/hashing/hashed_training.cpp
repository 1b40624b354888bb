#include "tests/engines/hashing/hashed_training.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "antichain/nn/wide.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/optim/adam.h"

namespace antichain::hashing_tests {

namespace {

std::vector<float> normal_numbers(std::mt19937_64& generator, std::int64_t count, float deviation) {
  std::normal_distribution<float> draw(0, deviation);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::ranges::generate(numbers, [&] { return draw(generator); });
  return numbers;
}

}  // namespace

HashedTraining::HashedTraining(const TrainingOptions& options)
    : options_(options),
      session_({.device = options.device, .seed = options.seed}),
      states_(session_.states()) {
  Graph graph = options.engines ? Graph(options.engines) : session_.graph();
  const Var x = graph.input("x", f32, {"batch", options.features});
  const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                            .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
  const std::string engine =
      "hashing:when=always" + (options.engine.empty() ? "" : "," + options.engine);
  const Var loss =
      mean(nn::wide_losses(cast(x, options.compute), options.widths, truth,
                           {.name = "out", .engine = engine, .weight = nn::normal(0, 0.3)}));
  step_ = std::make_unique<Executable>(session_.compile(
      {loss}, {.updates = options.optimiser ? options.optimiser(loss)
                                            : optim::adam(loss, {.lr = options.lr})}));
  std::mt19937_64 generator(17);
  for (std::int64_t label = 0; label < options.widths.back(); ++label) {
    prototypes_.push_back(normal_numbers(generator, options.features, 1));
  }
}

Feeds HashedTraining::batch(int number) const {
  std::mt19937_64 generator(static_cast<std::uint64_t>(number) + 100);
  std::uniform_int_distribution<std::size_t> draw(0, prototypes_.size() - 1);
  std::vector<float> x;
  std::vector<std::int64_t> labels, starts = {0};
  for (std::int64_t i = 0; i < options_.examples; ++i) {
    const std::size_t label = draw(generator);
    const std::vector<float> noise = normal_numbers(generator, options_.features, 0.3F);
    for (std::size_t k = 0; k < noise.size(); ++k) {
      x.push_back(prototypes_[label][k] + noise[k]);
    }
    labels.push_back(static_cast<std::int64_t>(label));
    starts.push_back(static_cast<std::int64_t>(labels.size()));
  }
  const auto count = static_cast<std::int64_t>(labels.size());
  return {{"x", Tensor::of<float>({options_.examples, options_.features}, x)},
          {"labels", Tensor::of<std::int64_t>({count}, labels)},
          {"starts", Tensor::of<std::int64_t>({options_.examples + 1}, starts)}};
}

double HashedTraining::step() { return (*step_)(batch(done_++))[0].item<float>(); }

double HashedTraining::steps(int count) {
  double loss = 0;
  for (int i = 0; i < count; ++i) {
    loss = step();
  }
  return loss;
}

void HashedTraining::resume(int steps, const StateStore::Values& states) {
  states_.set_all(states);
  done_ = steps;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

bool same_bits(const StateStore::Values& a, const StateStore::Values& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && same_bits(x.second, y.second);
  });
}

}  // namespace antichain::hashing_tests
