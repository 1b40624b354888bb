// How long a step of an output layer over very many labels takes on a GPU:
//   bench_gpu_hashing LABELS BATCH [--engine=hashing:...] [--device=NAME] [--profile]
// prints a line of JSON: milliseconds of a step with its Adam on 128 inputs for each example,
// dense without --engine. With --profile it prints what each op takes instead; with
// rehash=1,rehash_growth=1 among the options, rows are hashed and tables sorted in every step.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "antichain/nn/wide.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/optim/adam.h"
#include "benchmarks/gpu/step_profile.h"

namespace {

using namespace antichain;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHidden = 128, kMostLabels = 9;

struct Wish {
  std::vector<std::int64_t> sizes;  // labels and batch
  std::string engine, device = "cuda";
  bool profile = false;
};

Wish parse(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--engine=")) {
      wish.engine = argument.substr(std::string_view("--engine=").size());
    } else if (argument.starts_with("--device=")) {
      wish.device = argument.substr(std::string_view("--device=").size());
    } else if (argument == "--profile") {
      wish.profile = true;
    } else {
      require(!argument.starts_with("--"), "unexpected argument '{}'", argument);
      wish.sizes.push_back(std::stoll(argument));
    }
  }
  require(wish.sizes.size() == 2 && wish.sizes[0] > 0 && wish.sizes[1] > 0,
          "say how many labels there are and how many examples a batch has");
  return wish;
}

// Up to nine labels for each example, anywhere.
Feeds draw_batch(std::int64_t labels, std::int64_t batch) {
  std::mt19937_64 generator(1);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<std::int64_t> label(0, labels - 1), count(1, kMostLabels);
  std::vector<float> x(static_cast<std::size_t>(batch * kHidden));
  std::ranges::generate(x, [&] { return std::max(0.0F, normal(generator)); });
  std::vector<std::int64_t> of_examples, starts = {0};
  for (std::int64_t example = 0; example < batch; ++example) {
    for (std::int64_t left = count(generator); left > 0; --left) {
      of_examples.push_back(label(generator));
    }
    starts.push_back(static_cast<std::int64_t>(of_examples.size()));
  }
  return {{"x", Tensor::of<float>({batch, kHidden}, x)},
          {"labels", Tensor::of<std::int64_t>({starts.back()}, of_examples)},
          {"starts", Tensor::of<std::int64_t>({batch + 1}, starts)}};
}

bench::TrainingStep make_step(const Wish& wish) {
  const std::int64_t labels = wish.sizes[0], batch = wish.sizes[1];
  auto session = std::make_unique<Session>(SessionOptions{.device = wish.device});
  Graph graph = session->graph();
  Feeds feeds = draw_batch(labels, batch);
  const nn::LabelSets truth{.labels = graph.input("labels", i64, {feeds["labels"].numel()}),
                            .row_starts = graph.input("starts", i64, {batch + 1})};
  const Var loss = mean(nn::wide_losses(graph.input("x", f32, {batch, kHidden}), {labels}, truth,
                                        {.name = "out", .engine = wish.engine}));
  Executable executable = session->compile({loss}, {.updates = optim::adam(loss, {.lr = 0.001})});
  return {std::move(session), std::move(executable), std::move(feeds)};
}

double milliseconds(const bench::TrainingStep& step, const Feeds& feeds, Results& results) {
  const Clock::time_point start = Clock::now();
  step.executable.run_into(results, feeds);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void measure(const bench::TrainingStep& step) {
  constexpr int kWarmUp = 10, kMeasured = 200;
  Feeds feeds;
  for (const auto& [name, value] : step.feeds) {
    feeds[name] = step.session->backend().to_device(value);
  }
  Results results;
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + kMeasured; ++i) {
    times.push_back(milliseconds(step, feeds, results));
  }
  times.erase(times.begin(), times.begin() + kWarmUp);
  double sum = 0;
  for (const double time : times) {
    sum += time;
  }
  std::ranges::sort(times);
  std::cout << "{\"milliseconds\": " << times[times.size() / 2] << ", \"mean\": " << sum / kMeasured
            << ", \"fastest\": " << times.front() << ", \"ops\": " << step.executable.num_steps()
            << ", \"plan_bytes\": " << step.executable.memory_bytes() << '}' << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Wish wish = parse(argc, argv);
    const bench::TrainingStep step = make_step(wish);
    if (wish.profile) {
      std::cout << bench::profile_table(step);
    } else {
      measure(step);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench_gpu_hashing: " << error.what() << std::endl;
    return 2;
  }
}
