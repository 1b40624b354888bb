// A training step of a table of words, of which a batch uses some: benchmarks/embeddings.
//   bench_embeddings <rows> <lazy | whole> <mean | gru> <seconds> [device]
// Prints the median and the shortest time of a step as JSON. Fails when a lazy step has a value as
// long as the table that is no state.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/session/session.h"

namespace antichain::bench {
namespace {

constexpr std::int64_t kBatch = 256, kWords = 32, kWidth = 64, kClasses = 4;

// The mean of the words of an example, or of the states of a GRU that reads them, and one layer.
Var words_loss(Graph& graph, std::int64_t rows, bool by_gru) {
  const Var ids = graph.input("ids", i64, {kBatch, kWords});
  const Var labels = graph.input("labels", i64, {kBatch});
  const Var words = nn::embedding(ids, rows, kWidth, {.weight = nn::constant(0.1)});
  const Var features =
      by_gru ? mean(nn::gru(transpose(words, {1, 0, 2}), kWidth).all, {0}) : mean(words, {1});
  return mean(nn::cross_entropy(nn::linear(features, kClasses), labels));
}

// Numbers that are all over the table, as those of a linear congruential generator.
Feeds feeds_of(std::int64_t rows, std::uint64_t run) {
  std::vector<std::int64_t> ids, labels;
  std::uint64_t state = run;
  const auto draw = [&state](std::int64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (std::int64_t k = 0; k < kBatch * kWords; ++k) {
    ids.push_back(draw(rows));
  }
  for (std::int64_t k = 0; k < kBatch; ++k) {
    labels.push_back(draw(kClasses));
  }
  return {{"ids", Tensor::of<std::int64_t>({kBatch, kWords}, ids)},
          {"labels", Tensor::of<std::int64_t>({kBatch}, labels)}};
}

// What a step computes of all rows of the table, states aside.
std::vector<std::string> values_of_all_rows(Graph& compiled, std::int64_t rows) {
  std::vector<std::string> found;
  for (std::uint32_t id = 0; id < compiled.num_ops(); ++id) {
    const Op op = compiled.op(OpId{id});
    for (const Var output : op.outputs()) {
      if (std::ranges::count(output.shape(), Dim(rows)) > 0 && !op.def().forwards) {
        found.push_back(op.describe());
      }
    }
  }
  return found;
}

// That of the whole table is looked at, too: it has such values, or the check sees nothing.
void check_values(const Executable& train, std::int64_t rows, bool lazy) {
  if (rows <= kBatch * kWords) {  // as many rows as ids: the gradient stays that of the table
    return;
  }
  const std::vector<std::string> found = values_of_all_rows(train.graph(), rows);
  require(found.empty() == lazy, "the step on {} has {} values of {} rows beside its states{}",
          lazy ? "rows in use" : "the whole table", found.size(), rows,
          found.empty() ? "" : ", one by " + found[0]);
}

void run(std::int64_t rows, bool lazy, bool by_gru, double seconds, const std::string& device) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kDifferent = 64;  // batches
  Session session({.device = device});
  Graph graph = session.graph();
  const Var loss = words_loss(graph, rows, by_gru);
  optim::StepOptions step;
  if (lazy) {
    step.lazy_rows = optim::looked_up();
  }
  const Executable train = session.compile({loss}, {.updates = optim::adam(loss, {.step = step})});
  check_values(train, rows, lazy);
  std::vector<Feeds> batches;
  for (std::uint64_t n = 0; n < kDifferent; ++n) {
    batches.push_back(feeds_of(rows, n));
    for (auto& [name, value] : batches.back()) {
      value = session.backend().to_device(value);
    }
  }
  Results results;
  train.run_into(results, batches[0]);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  for (std::size_t n = 1; n < 3 || Clock::now() - start < std::chrono::duration<double>(seconds);
       ++n) {
    const Clock::time_point before = Clock::now();
    train.run_into(results, batches[n % kDifferent]);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }
  std::ranges::sort(times);
  fmt::print("{{\"milliseconds\": {}, \"fastest\": {}, \"memory\": {}}}\n", times[times.size() / 2],
             times[0], train.memory_bytes());
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  try {
    const bool complete = given.size() == 4 || given.size() == 5;
    const std::string form = complete ? given[1] : "", model = complete ? given[2] : "";
    antichain::require(
        (form == "lazy" || form == "whole") && (model == "mean" || model == "gru"),
        "usage: bench_embeddings <rows> <lazy | whole> <mean | gru> <seconds> [device]");
    antichain::bench::run(std::stoll(given[0]), form == "lazy", model == "gru", std::stod(given[3]),
                          given.size() == 5 ? given[4] : "cpu");
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_embeddings: {}\n", error.what());
    return 1;
  }
}
