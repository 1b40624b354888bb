// A dataset of one's own with the Trainer: evaluation after every epoch, checkpoints in a folder,
// and a run that is interrupted and goes on as if nothing had happened.
#include <antichain/antichain.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

namespace ac = antichain;

namespace {

constexpr std::int64_t kSide = 8;

// Images of stripes in noise, horizontal (class 0) or vertical (class 1), made when they are taken.
// A sample depends on its number alone: Batches may ask for any, in any order, from its own thread.
class Stripes final : public ac::data::Dataset {
 public:
  Stripes(std::int64_t size, std::int64_t seed) : size_(size), seed_(seed) {}
  std::int64_t size() const override { return size_; }
  ac::data::Batch take(std::span<const std::int64_t> numbers) const override {
    check_numbers(numbers);
    std::vector<float> pixels;
    std::vector<std::int64_t> classes;
    for (const std::int64_t number : numbers) {
      const ac::RandomStream noise = ac::folded_in({.seed = seed_}, number);
      classes.push_back(number % 2);
      for (std::int64_t i = 0; i < kSide * kSide; ++i) {
        const std::int64_t along = number % 2 == 0 ? i / kSide : i % kSide;
        pixels.push_back(static_cast<float>(along % 2) + ac::normal_f32(noise, i));
      }
    }
    const auto count = static_cast<std::int64_t>(numbers.size());
    return {{"x", ac::Tensor::of({count, 1, kSide, kSide}, pixels)},
            {"y", ac::Tensor::of({count}, classes)}};
  }

 private:
  std::int64_t size_, seed_;
};

// A process of its own, as it were: nothing is shared with another call but the folder.
ac::TrainResult train(const ac::TrainOptions& options) {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"batch", 1, kSide, kSide});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var seen = ac::relu(ac::nn::conv2d(x, 8, {3, 3}, {.padding = {1, 1}}));
  const ac::Var logits = ac::nn::linear(ac::nn::global_avg_pool(seen), 2);
  const ac::Var losses = ac::nn::cross_entropy(logits, y);  // one per image
  const ac::Executable evaluation = session.compile({losses, ac::nn::is_correct(logits, y)});
  const ac::Executable step = session.compile(
      {ac::mean(losses)}, {.updates = ac::optim::adam(ac::mean(losses), {.lr = 0.01})});
  ac::data::Batches batches(std::make_shared<Stripes>(2000, 1), {.batch = 50, .seed = 1});
  return ac::Trainer({.step = step,
                      .batches = batches,
                      .states = session.states(),
                      .evaluations = {{"test", evaluation, std::make_shared<Stripes>(500, 2)}}},
                     options)
      .run();
}

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("stripes-{}", getpid());
  int steps = 0;  // `stop` is asked after every step
  const auto first = train({.epochs = 5, .folder = folder, .stop = [&] { return ++steps == 70; }});
  const auto rest = train({.epochs = 5, .folder = folder, .resume = true});
  const auto whole = train({.epochs = 5});
  fmt::print("stopped after {} steps, went on to {}\n", first.steps, rest.steps);
  for (const auto& [step, accuracy, time] : rest.history.at("test/accuracy")) {
    fmt::print("step {:>3}  test accuracy {:.1f} %\n", step, 100 * accuracy);
  }
  const ac::Score score = rest.scores.at("test"), wanted = whole.scores.at("test");
  fmt::print("test loss {:.9f}, of a run without a break {:.9f}\n", score.loss, wanted.loss);
  std::filesystem::remove_all(folder);
  return !first.finished && score.loss == wanted.loss && score.accuracy > 0.9 ? 0 : 1;
}
