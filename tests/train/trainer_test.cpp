#include "antichain/train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "antichain/nn/layers.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/base/temporary_folder.h"
#include "tests/conformance/remote_backend.h"
#include "tests/tensor/expect_error.h"

namespace antichain::trainer_test {

data::DatasetPtr points(std::int64_t count) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (std::int64_t i = 0; i < count; ++i) {
    const float a = std::sin(static_cast<float>(i)), b = std::cos(3 * static_cast<float>(i));
    x.insert(x.end(), {a, b});
    y.push_back(a * b > 0 ? 1 : 0);
  }
  return std::make_shared<data::TensorDataset>(
      data::Batch{{"x", Tensor::of(Shape{count, 2}, x)}, {"y", Tensor::of(Shape{count}, y)}});
}

// A classifier with noise in its input, momentum and a batch that does not divide the data:
// whatever is forgotten in a checkpoint shows.
struct Model {
  explicit Model(double lr = 0.1, std::unique_ptr<Backend> backend = nullptr)
      : session(backend ? Session(std::move(backend)) : Session()),
        graph(session.graph()),
        step(compile_step(lr)),
        evaluation(compile_evaluation()) {}

  Var logits(Var x) { return nn::mlp(x, {8, 2}); }
  Executable compile_step(double lr) {
    const Var x = graph.input("x", f32, {"n", 2}), y = graph.input("y", i64, {"n"});
    const Var noise = random_normal(graph, f32, x.shape()) * 0.1;
    const Var loss = mean(cross_entropy(logits(x + noise), y));
    return session.compile({loss}, {.updates = optim::sgd(loss, {.lr = lr, .momentum = 0.9})});
  }
  Executable compile_evaluation() {
    Graph other = session.graph();
    const Var x = other.input("x", f32, {"n", 2}), y = other.input("y", i64, {"n"});
    const Var out = logits(x);
    return session.compile({cross_entropy(out, y), cast(equal(argmax(out, -1), y), f32)});
  }
  TrainResult train(const TrainOptions& options) {
    data::Batches batches(points(50), {.batch = 16, .seed = 5});
    return Trainer({.step = step,
                    .batches = batches,
                    .states = session.states(),
                    .evaluations = {{"test", evaluation, points(20), 7}}},
                   options)
        .run();
  }

  Session session;
  Graph graph;
  Executable step, evaluation;
};

void expect_same_states(Model& a, Model& b) {
  ASSERT_EQ(a.session.states().all().size(), b.session.states().all().size());
  for (const auto& [name, value] : a.session.states().all()) {
    EXPECT_TRUE(bit_equal(value, b.session.states().get(name))) << name;
  }
}

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

// Stops in the middle of the second epoch and gives the checkpoint to `change`.
void expect_refusal(const std::string& why, const std::function<void(Checkpoint&)>& change,
                    TrainOptions options = {.epochs = 3}) {
  const TemporaryFolder folder;
  std::int64_t steps = 0;
  Model first, second;
  first.train({.epochs = 3, .folder = folder.path(), .stop = [&] { return ++steps == 6; }});
  Checkpoint checkpoint = load_checkpoint(folder / "checkpoints").value();
  change(checkpoint);
  std::filesystem::remove_all(folder / "checkpoints");
  save_checkpoint(folder / "checkpoints", checkpoint, 1);
  options.folder = folder.path();
  options.resume = true;
  const StateStore::Values before = second.session.states().all();
  expect_error<DataError>("the checkpoint in '" + folder.path().string() +
                              "' does not fit this model and these data: " + why,
                          [&] { second.train(options); });
  for (const auto& [name, value] : before) {  // nothing was taken over
    EXPECT_TRUE(bit_equal(value, second.session.states().get(name))) << name;
  }
}

TEST(Trainer, ACheckpointOfAnotherModelIsRefused) {
  const std::string bias = "mlp.0.bias";
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is f32[9]",
                 [&](Checkpoint& c) { c.states[bias] = Tensor::zeros(f32, {9}); });
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is i32[8]",
                 [&](Checkpoint& c) { c.states[bias] = Tensor::zeros(i32, {8}); });
  expect_refusal("there is no value for the state 'mlp.0.bias' of f32[8]",
                 [&](Checkpoint& c) { c.states.erase(bias); });
  expect_refusal("there is a value for 'other', which is no state of this session",
                 [](Checkpoint& c) { c.states["other"] = Tensor::zeros(f32, {8}); });
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is f32[1]",
                 [&](Checkpoint& c) {
                   c.best = c.states;
                   c.best[bias] = Tensor::zeros(f32, {1});
                 });
}

TEST(Trainer, ACheckpointOfOtherDataIsRefused) {
  expect_refusal("it is in epoch 7, of 3", [](Checkpoint& c) { c.state.epoch = 7; });
  expect_refusal("it is at step 6, which is not batch 4 of epoch 2 where an epoch has 4 batches",
                 [](Checkpoint& c) { c.state.batch = 4; });
  expect_refusal("it is at step 7, which is not batch 2 of epoch 2 where an epoch has 4 batches",
                 [](Checkpoint& c) { c.state.step = 7; });
  for (const std::int64_t most : {5, 6}) {
    expect_refusal("it has done 6 steps already, so it cannot end after " + std::to_string(most) +
                       " (max_steps)",
                   [](Checkpoint&) {}, {.epochs = 3, .max_steps = most});
  }
}

TEST(Trainer, TwoTrainingsDoNotShareAFolder) {
  const TemporaryFolder folder;
  Model first, second;
  std::string sentence;
  first.train({.epochs = 1, .folder = folder.path(), .progress = [&](const TrainProgress& p) {
                 if (p.step == 2) {
                   try {
                     second.train({.epochs = 1, .folder = folder.path(), .resume = true});
                   } catch (const DataError& error) {
                     sentence = error.what();
                   }
                 }
               }});
  EXPECT_EQ(sentence,
            "'" + folder.path().string() + "' is in use: another training is running in it");
  // Nor does a new one begin where an old one has left its checkpoints: it would lose its own.
  expect_error<InvalidArgument>("'" + folder.path().string() +
                                    "' already holds checkpoints; resume, or choose another folder",
                                [&] { second.train({.epochs = 1, .folder = folder.path()}); });
  EXPECT_TRUE(second.train({.epochs = 1, .folder = folder.path(), .resume = true}).finished);
}

// The loss is a number up to the end, the states that the last update leaves behind are none.
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
