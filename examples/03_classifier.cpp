// Mini-batches: a network learns to tell the three arms of a spiral apart, and is then asked about
// points that it has never seen.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <algorithm>
#include <numbers>
#include <numeric>
#include <random>

namespace ac = antichain;

namespace {

constexpr std::int64_t kArms = 3, kTrainPoints = 600, kTestPoints = 300, kBatch = 50;
constexpr int kEpochs = 60;
constexpr double kWantedAccuracy = 0.95;

// The data is a graph too: for each arm that it is given, it draws a point on it. An executable
// with random ops draws anew whenever it runs.
ac::Executable make_spirals(ac::Session& session) {
  return ac::record(session, {{"arm", ac::i64, {"points"}}}, [](const std::vector<ac::Var>& in) {
    ac::Graph& graph = in[0].graph();
    const ac::Dim points = in[0].dim(0);
    const ac::Var along = ac::random_uniform(graph, ac::f32, {points});
    const ac::Var radius = 0.1 + 0.9 * along;  // the arms would meet at 0
    const ac::Var turns = along + ac::cast(in[0], ac::f32) / static_cast<double>(kArms);
    const ac::Var angle = 2 * std::numbers::pi * turns;
    const ac::Var exact = ac::stack({radius * ac::cos(angle), radius * ac::sin(angle)}, 1);
    return std::vector<ac::Var>{exact + 0.02 * ac::random_normal(graph, ac::f32, {points, 2})};
  });
}

ac::Tensor labels_of(std::int64_t points) {
  std::vector<std::int64_t> arms;
  for (std::int64_t i = 0; i < points; ++i) {
    arms.push_back(i % kArms);
  }
  return ac::Tensor::of<std::int64_t>({points}, arms);
}

}  // namespace

int main() {
  ac::Session session({.seed = 1});
  const ac::Executable spirals = make_spirals(session);
  const ac::Tensor y_train = labels_of(kTrainPoints), y_test = labels_of(kTestPoints);
  const ac::Tensor x_train = spirals({{"arm", y_train}})[0];
  const ac::Tensor x_test = spirals({{"arm", y_test}})[0];

  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"points", 2});
  const ac::Var y = graph.input("y", ac::i64, {"points"});
  const ac::Var rows = graph.input("rows", ac::i64, {"batch"});  // which points this run looks at
  const ac::Var label = ac::gather(y, rows);
  const ac::Var logits =
      ac::nn::mlp(ac::gather(x, rows), {32, 32, kArms}, {.weight = ac::nn::he_normal});
  const ac::Var loss = ac::mean(ac::cross_entropy(logits, label));
  const ac::Var accuracy = ac::mean(ac::cast(ac::equal(ac::argmax(logits, -1), label), ac::f32));

  // Two executables on the same parameters: one changes them, the other only looks.
  const ac::Executable test = session.compile({accuracy});
  const ac::Executable train =
      session.compile({loss}, {.updates = ac::optim::sgd(loss, {.lr = 0.1, .momentum = 0.9})});

  std::vector<std::int64_t> order(kTrainPoints);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 shuffler(1);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), shuffler);
    const ac::Tensor shuffled = ac::Tensor::of<std::int64_t>({kTrainPoints}, order);
    double total = 0;
    for (std::int64_t first = 0; first < kTrainPoints; first += kBatch) {
      const ac::Tensor batch = shuffled.slice(0, first, kBatch);  // a view: nothing is copied
      total += train({{"x", x_train}, {"y", y_train}, {"rows", batch}}).item<double>();
    }
    if (epoch % 10 == 0) {
      fmt::print("epoch {:>3}  mean loss {:.4f}\n", epoch, total * kBatch / kTrainPoints);
    }
  }

  std::vector<std::int64_t> all(kTestPoints);
  std::iota(all.begin(), all.end(), 0);
  const auto reached = test({{"x", x_test},
                             {"y", y_test},
                             {"rows", ac::Tensor::of<std::int64_t>({kTestPoints}, all)}})
                           .item<double>();
  fmt::print("accuracy on {} new points: {:.1f} % (at least {:.0f} % wanted)\n", kTestPoints,
             100 * reached, 100 * kWantedAccuracy);
  return reached >= kWantedAccuracy ? 0 : 1;
}
