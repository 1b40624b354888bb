#include "antichain/train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/sgd.h"
#include "tests/base/temporary_folder.h"
#include "tests/conformance/remote_backend.h"
#include "tests/tensor/expect_error.h"
#include "tests/train/small_training.h"

namespace antichain::trainer_test {

TEST(Trainer, LearnsAndMeasures) {
  Model model;
  const TrainResult result = model.train({.epochs = 60});
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.epochs, 60);
  EXPECT_EQ(result.steps, 240);
  EXPECT_EQ(result.samples, 3000);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GE(result.scores.at("test").accuracy, 0.9);
  EXPECT_EQ(result.history.at("train/loss").size(), 60U);
  EXPECT_EQ(result.history.at("train/loss").back().value, result.train_loss);
  EXPECT_EQ(result.history.at("step/loss").size(), 240U);
  EXPECT_EQ(result.history.at("train/seconds").size(), 60U);
  EXPECT_EQ(result.history.at("train/seconds").back().value, result.seconds);
  EXPECT_LT(result.train_loss, result.history.at("train/loss").front().value);
}

TEST(Trainer, NotesWhatTheGraphReports) {
  for (const bool is_late : {false, true}) {
    Session session = is_late ? Session(conformance::make_remote_backend()) : Session();
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"n", 2}), y = graph.input("y", i64, {"n"});
    Var loss = mean(cross_entropy(nn::mlp(x, {8, 2}), y));
    loss = with_report(loss, "share", mean(cast(y, f32)));
    const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.1})});
    data::Batches batches(points(48), {.batch = 16});
    const TrainResult result =
        Trainer({.step = step, .batches = batches, .states = session.states()}, {.epochs = 2})
            .run();
    const Curve& shares = result.history.at("report/share");
    ASSERT_EQ(shares.size(), 6U);
    EXPECT_EQ(shares.back().step, 6);
    for (const CurvePoint& share : shares) {
      EXPECT_GT(share.value, 0);
      EXPECT_LT(share.value, 1);
    }
    EXPECT_EQ(session.states().all().count("report/share"), 0U);
  }
}

TEST(Trainer, DerivesStatesAgainWhenItGoesOn) {
  const TemporaryFolder folder;
  for (const bool resume : {false, true}) {
    Session session({.seed = resume ? 1 : 0});  // other weights than those in the checkpoint
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"n", 2}), y = graph.input("y", i64, {"n"});
    const Var loss = mean(cross_entropy(nn::mlp(x, {8, 2}), y));
    const std::string weight = state_name(parameters(graph)[0]);
    graph.add_state({.name = "total",
                     .type = {f32, {}},
                     .initial = sum(read_state(graph, weight)),
                     .is_derived = true});
    const Executable totals =
        session.compile({read_state(graph, "total"), sum(read_state(graph, weight))});
    const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.1})});
    data::Batches batches(points(48), {.batch = 16});
    Trainer({.step = step, .batches = batches, .states = session.states()},
            {.epochs = 1, .folder = folder.path(), .resume = resume})
        .run();
    const Results both = totals({});
    EXPECT_EQ(both[0].item<float>() == both[1].item<float>(), resume);
  }
}

TEST(Trainer, TheScoreIsTheMeanOverAllExamples) {
  Model model;
  const data::DatasetPtr set = points(20);
  const Score by_sevens = evaluate({"test", model.evaluation, set, 7});
  const Score at_once = evaluate({"test", model.evaluation, set, 20});
  const Results all = model.evaluation(data::take_all(*set));
  double loss = 0;
  for (const double value : all[0].to_vector<double>()) {
    loss += value / 20;
  }
  EXPECT_NEAR(by_sevens.loss, loss, 1e-6);
  EXPECT_NEAR(at_once.loss, loss, 1e-6);
  EXPECT_EQ(by_sevens.accuracy, at_once.accuracy);
}

// A mean over the examples and a ratio of two sums, over batches of unequal sizes.
TEST(Trainer, MeasuresWhatTheModelSaysBesides) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n", 2}), y = graph.input("y", i64, {"n"});
  const Var loss = mean(cross_entropy(nn::mlp(x, {8, 2}), y));
  const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 0.1})});
  Graph other = session.graph();
  const Var u = other.input("x", f32, {"n", 2}), v = other.input("y", i64, {"n"});
  const Var first = squeeze(slice(u, {{.axis = 1, .stop = 1}}), 1), both = sum(u * u, {1});
  const std::vector<Var> outputs = {cross_entropy(nn::mlp(u, {8, 2}), v), first, first * first,
                                    both};
  const std::vector<Metric> metrics = {{"mean_x"}, {"share_of_x", true}};
  const data::DatasetPtr set = points(20);
  double expected_mean = 0, reached = 0, most = 0;
  const std::vector<float> coordinates = data::take_all(*set).at("x").to_vector<float>();
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const double square = static_cast<double>(coordinates[i]) * coordinates[i];
    expected_mean += i % 2 == 0 ? coordinates[i] / 20.0 : 0;
    reached += i % 2 == 0 ? square : 0;
    most += square;
  }
  const Executable evaluation = session.compile(outputs);
  data::Batches batches(points(48), {.batch = 16});
  const TrainResult result = Trainer({.step = step,
                                      .batches = batches,
                                      .states = session.states(),
                                      .evaluations = {{"test", evaluation, set, 7, metrics}}},
                                     {.epochs = 2})
                                 .run();
  const Score score = result.scores.at("test");
  EXPECT_TRUE(std::isnan(score.accuracy));
  EXPECT_NEAR(score.metrics.at("mean_x"), expected_mean, 1e-6);
  EXPECT_NEAR(score.metrics.at("share_of_x"), reached / most, 1e-6);
  EXPECT_EQ(result.history.at("test/share_of_x").size(), 2U);
  EXPECT_EQ(result.history.at("test/mean_x").back().value, score.metrics.at("mean_x"));

  const Executable with_hits =
      session.compile({outputs[0], cast(equal(v, 0), f32), outputs[1], outputs[2], outputs[3]});
  const Score more = evaluate({"test", with_hits, set, 7, metrics});
  EXPECT_EQ(more.metrics, score.metrics);
  EXPECT_GT(more.accuracy, 0);
  expect_error<InvalidArgument>(
      "an evaluation returns losses, perhaps hits, and 3 results for its metrics; that of 'test' "
      "returns 2",
      [&] {
        evaluate({"test", session.compile({outputs[0], outputs[1]}), set, 7, metrics});
      });
}

// Where losses come late: while the next step is computed.
std::unique_ptr<Backend> late() { return conformance::make_remote_backend(); }
std::unique_ptr<Backend> prompt() { return nullptr; }

// Stopped after every number of steps, at a checkpoint or not, then resumed.
void expect_the_same_bits(std::unique_ptr<Backend> (*backend)()) {
  Model whole(0.1, backend());
  const TrainResult expected = whole.train({.epochs = 3});
  for (const std::int64_t stop_at : {1, 4, 6, 11}) {
    SCOPED_TRACE(stop_at);
    const TemporaryFolder folder;
    std::int64_t steps = 0;
    Model first(0.1, backend());
    const TrainResult half =
        first.train({.epochs = 3, .folder = folder.path(), .checkpoint_every = 2, .stop = [&] {
                       return ++steps == stop_at;
                     }});
    EXPECT_FALSE(half.finished);
    Model second(0.1, backend());
    const TrainResult rest = second.train({.epochs = 3, .folder = folder.path(), .resume = true});
    EXPECT_TRUE(rest.finished);
    EXPECT_EQ(rest.steps, expected.steps);
    EXPECT_EQ(rest.train_loss, expected.train_loss);
    EXPECT_EQ(rest.scores.at("test").loss, expected.scores.at("test").loss);
    EXPECT_EQ(rest.history.at("step/loss").size(), expected.history.at("step/loss").size());
    expect_same_states(whole, second);
  }
}

TEST(Trainer, ResumesToTheBit) { expect_the_same_bits(prompt); }
TEST(Trainer, ResumesToTheBitWhereLossesComeLate) { expect_the_same_bits(late); }

TEST(Trainer, ALateLossIsToldAsAnyOther) {
  Model here, far(0.1, late());
  std::vector<TrainProgress> seen;
  const TrainResult expected = here.train({.epochs = 2});
  const TrainResult found =
      far.train({.epochs = 2, .progress = [&](const TrainProgress& p) { seen.push_back(p); }});
  ASSERT_EQ(seen.size(), 8U);
  const Curve &curve = found.history.at("step/loss"), &usual = expected.history.at("step/loss");
  ASSERT_EQ(curve.size(), 8U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].step, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(seen[i].loss, curve[i].value);
    EXPECT_EQ(curve[i].step, usual[i].step);
    EXPECT_NEAR(curve[i].value, usual[i].value, 1e-4);
  }
  EXPECT_EQ(seen.back().samples, 100);
  EXPECT_EQ(found.samples, 100);
  EXPECT_NEAR(found.train_loss, expected.train_loss, 1e-4);
  Model wild(1e30, late());
  EXPECT_THROW(wild.train({.epochs = 5}), DataError);
}

TEST(Trainer, AFinishedRunIsNotRunAgain) {
  const TemporaryFolder folder;
  Model first, second;
  const TrainResult done = first.train({.epochs = 2, .folder = folder.path()});
  // An old checkpoint that could not be removed, as found by an injected error.
  std::filesystem::create_directories(folder / "checkpoints/.aside-step-00000004");
  const TrainResult again = second.train({.epochs = 2, .folder = folder.path(), .resume = true});
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoints/.aside-step-00000004"));
  EXPECT_EQ(again.steps, done.steps);
  EXPECT_EQ(again.train_loss, done.train_loss);
  EXPECT_EQ(again.scores.at("test").loss, done.scores.at("test").loss);
  expect_same_states(first, second);
}

TEST(Trainer, StopsEarlyWithTheBestStates) {
  const TemporaryFolder folder;
  Model model(3.0);  // so large that it gets worse now and then
  const TrainResult result = model.train({.epochs = 200, .folder = folder.path(), .patience = 3});
  const Curve& accuracy = result.history.at("test/accuracy");
  double best = 0;
  std::size_t best_epoch = 0;
  for (std::size_t i = 0; i < accuracy.size(); ++i) {
    if (accuracy[i].value > best) {
      best = accuracy[i].value;
      best_epoch = i + 1;
    }
  }
  EXPECT_LT(result.epochs, 200);
  EXPECT_EQ(static_cast<std::size_t>(result.epochs), best_epoch + 3);
  EXPECT_EQ(result.scores.at("test").accuracy, best);
}

TEST(Trainer, EndsAfterSomeStepsWhenAskedTo) {
  Model model;
  const TrainResult result = model.train({.epochs = 10, .max_steps = 6});
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.samples, 50 + 32);
}

TEST(Trainer, EvaluatesNowAndThenAndAtTheEnd) {
  Model model;
  const TrainResult result = model.train({.epochs = 5, .evaluate_every = 2});
  EXPECT_EQ(result.history.at("test/loss").size(), 3U);  // after epochs 2, 4 and 5
}

TEST(Trainer, WritesCheckpointsAsOftenAsAskedTo) {
  const auto checkpoints = [](const TrainOptions& options) {
    Model model;
    model.train(options);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(options.folder / "checkpoints")) {
      names.push_back(entry.path().filename().string());
    }
    return names.size();
  };
  const TemporaryFolder folder;
  EXPECT_EQ(
      checkpoints({.epochs = 3, .folder = folder / "a", .checkpoint_seconds = 1e9, .keep = 9}),
      1U);  // the last
  EXPECT_EQ(checkpoints({.epochs = 3, .folder = folder / "b", .checkpoint_seconds = 0, .keep = 9}),
            3U);
  EXPECT_EQ(checkpoints({.epochs = 3, .folder = folder / "c", .checkpoint_every = 5, .keep = 9}),
            5U);  // steps 4 (an epoch), 5, 8, 10 and 12
}

TEST(Trainer, ReportsEveryStep) {
  Model model;
  std::vector<TrainProgress> seen;
  model.train({.epochs = 2, .progress = [&](const TrainProgress& p) { seen.push_back(p); }});
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(seen.front().step, 1);
  EXPECT_EQ(seen.front().steps, 8);
  EXPECT_TRUE(std::isnan(seen.front().accuracy));
  EXPECT_EQ(seen.back().epoch, 2);
  EXPECT_EQ(seen.back().samples, 100);
  EXPECT_FALSE(std::isnan(seen.back().accuracy));
}

// The losses of steps are the data itself.
TrainResult train_on(const std::vector<float>& losses, std::int64_t most_bad_steps) {
  Session session;
  Graph graph = session.graph();
  const Executable step = session.compile({mean(graph.input("x", f32, {"n"}))});
  const auto count = static_cast<std::int64_t>(losses.size());
  data::Batches batches(
      std::make_shared<data::TensorDataset>(data::Batch{{"x", Tensor::of(Shape{count}, losses)}}),
      {.batch = 1, .shuffle = false});
  return Trainer({.step = step, .batches = batches, .states = session.states()},
                 {.epochs = 2, .most_bad_steps = most_bad_steps})
      .run();
}

TEST(Trainer, BadStepsAreInNoMeanWhereTheyMayHappen) {
  const float bad = std::numeric_limits<float>::infinity(), worse = std::nanf("");
  const TrainResult result = train_on({1, bad, worse, 3, bad, 5}, 2);
  EXPECT_EQ(result.steps, 12);
  EXPECT_EQ(result.train_loss, 3);
  EXPECT_EQ(result.history.at("step/loss").size(), 6U);
  expect_error<DataError>("the loss is inf after step 2; a smaller lr may help", [&] {
    train_on({1, bad, 2}, 0);
  });
  expect_error<DataError>(
      "the loss is inf after step 5, and 2 times in a row; a smaller lr may help", [&] {
        train_on({1, bad, 1, bad, bad}, 1);
      });
}

TEST(Trainer, ADivergedRunIsReadAgain) {
  const TemporaryFolder folder;
  const auto train = [&](bool resume) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {"n"});
    const Var loss = mean(x) * parameter("w", full(graph, f32, {}, 1));
    const Executable step = session.compile({loss}, {.updates = optim::sgd(loss, {.lr = 1e38})});
    Graph other = session.graph();
    const Var y = other.input("x", f32, {"n"});
    const Executable evaluation =
        session.compile({y * parameter("w", full(other, f32, {}, 1)) * 0});
    const auto set =
        std::make_shared<data::TensorDataset>(data::Batch{{"x", Tensor::full(f32, {4}, 1e10)}});
    data::Batches batches(set, {.batch = 4});
    return Trainer({.step = step,
                    .batches = batches,
                    .states = session.states(),
                    .evaluations = {{"test", evaluation, set}}},
                   {.epochs = 1, .folder = folder.path(), .resume = resume, .patience = 1})
        .run();
  };
  const TrainResult first = train(false);
  EXPECT_TRUE(std::isnan(first.scores.at("test").loss));
  EXPECT_TRUE(first.is_diverged());
  const TrainResult again = train(true);
  EXPECT_TRUE(again.is_diverged());
  EXPECT_TRUE(std::isnan(again.history.at("test/loss").back().value));
  Model model;
  EXPECT_FALSE(model.train({.epochs = 1}).is_diverged());
}

TEST(Trainer, MistakesAreSentences) {
  Model model;
  expect_error<InvalidArgument>("epochs must be above 0, got 0",
                                [&] { model.train({.epochs = 0}); });
  expect_error<InvalidArgument>("resume needs a folder", [&] { model.train({.resume = true}); });
  expect_error<InvalidArgument>("at least one checkpoint must be kept, got 0",
                                [&] { model.train({.keep = 0}); });
  Model wild(1e30);
  EXPECT_THROW(wild.train({.epochs = 5}), DataError);
}

}  // namespace antichain::trainer_test
