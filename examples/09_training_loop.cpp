// A training loop of one's own, without the Trainer: batches, a learning rate that is a function of
// one's own, a gradient norm to look at, and the end when a validation set says so.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <algorithm>
#include <numbers>

namespace ac = antichain;

namespace {

constexpr std::int64_t kBatch = 100;
constexpr int kMostEpochs = 40;
constexpr double kWantedAccuracy = 0.95;

// Falls from 0.02 to 0 along half a cosine in every period, again and again (Loshchilov and Hutter,
// 2017, equation 5). The step is a value in the graph, and so is the rate: no run has to be told.
ac::optim::Schedule cosine_with_restarts(double period) {
  return ac::optim::Schedule([period](ac::Var step) {
    const ac::Var along = step / period - ac::floor(step / period);
    return 0.01 * (1 + ac::cos(std::numbers::pi * along));
  });
}

ac::Var norm_of(const std::vector<ac::Var>& values) {
  ac::Var squares = ac::sum(ac::square(values.at(0)));
  for (std::size_t i = 1; i < values.size(); ++i) {
    squares = squares + ac::sum(ac::square(values[i]));
  }
  return ac::sqrt(squares);
}

}  // namespace

int main() {
  const ac::data::Splits peaks = ac::data::peaks();  // points of the plane, in five bands of height
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var logits = ac::nn::mlp(x, {64, 64, peaks.num_classes}, {.activation = ac::tanh});
  const ac::Var loss = ac::mean(ac::nn::cross_entropy(logits, y));

  // What is logged is asked for like any value. The rate is built before the optimiser, which
  // counts the steps; the gradients are those that the optimiser uses: equal ops are one op.
  ac::data::Batches batches(peaks.train, {.batch = kBatch, .seed = 1});
  const auto lr = cosine_with_restarts(10.0 * static_cast<double>(batches.batches_per_epoch()));
  const ac::Var rate = lr(ac::optim::step_count(graph));
  const ac::Var norm = norm_of(ac::grad(loss, ac::parameters(graph)));
  const ac::Executable train =
      session.compile({loss, rate, norm}, {.updates = ac::optim::adam(loss, {.lr = lr})});
  const ac::Executable validate = session.compile({1 - ac::mean(ac::nn::zero_one(logits, y))});

  double accuracy = 0;
  ac::data::Batch batch;
  ac::Results results;  // its memory is used again: a step allocates nothing
  for (int epoch = 1; epoch <= kMostEpochs && accuracy < kWantedAccuracy; ++epoch) {
    double total = 0, longest = 0;
    for (batches.start(epoch); batches.next(batch);) {
      train.run_into(results, batch);
      total += results[0].item<double>() * static_cast<double>(batch.at("y").numel());
      longest = std::max(longest, results[2].item<double>());
    }
    accuracy = validate(ac::data::take_all(*peaks.validation)).item<double>();
    fmt::print(
        "epoch {:>2}  loss {:.4f}  validation {:.1f} %  lr {:.4f}  longest gradient {:.2f}\n",
        epoch, total / static_cast<double>(peaks.train->size()), 100 * accuracy,
        results[1].item<double>(), longest);
  }
  return accuracy >= kWantedAccuracy ? 0 : 1;
}
