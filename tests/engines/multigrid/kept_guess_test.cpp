// First guesses from earlier training steps: of the same batch, or of examples of the same class.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/runtime/expected_sizes.h"
#include "tests/engines/multigrid/chains.h"
#include "tests/tensor/expect_error.h"

namespace antichain::multigrid_test::kept_guess_test {

constexpr std::int64_t kLayers = 32;

Tensor waves(const Shape& shape, double size, double rate) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(size * std::sin(1 + rate * static_cast<double>(i)));
  }
  return Tensor::of<double>(shape, values);
}

using Options = std::vector<EngineOption>;

struct Errors {
  double state, gradient;
};

// A training step that changes nothing but what the engine keeps.
class Training {
 public:
  explicit Training(Options options, bool knows_sizes = true) {
    options.emplace_back("coarsening", 4);
    options.emplace_back("coarse", "plain");
    options.emplace_back("cycles", 1);
    buffer("runs", scalar(graph_, f64, 0));
    const Var u = graph_.input("u", f64, {"batch", 3}), y = graph_.input("y", i64, {"batch"});
    const Var w = graph_.input("w", f64, {kLayers, 3, 3});
    if (knows_sizes) {
      expect_sizes(graph_, feeds(waves({4, 3}, 1, 0.7)));
    }
    // The labels have a reader, as a loss is one.
    const Var zero = 0.0 * sum(cast(y, f64));
    outputs_ = values(u, w, zero, multigrid(std::move(options)));
    const Vars exact = values(u, w, zero, {});
    outputs_.insert(outputs_.end(), exact.begin(), exact.end());
  }

  Errors step(const Tensor& u) {
    if (!step_) {
      step_ = session_.compile(outputs_,
                               {.updates = {add_update(graph_, "runs", scalar(graph_, f64, 1))}});
    }
    return errors((*step_)(feeds(u)));
  }
  Errors evaluate(const Tensor& u) { return errors(session_.compile(outputs_)(feeds(u))); }
  StateStore& states() { return session_.states(); }

 private:
  static Vars values(Var u, Var w, Var zero, const EngineChoice& engine) {
    const auto layer = [](Var s, Var x) { return s + 5.0 / kLayers * tanh(matmul(s, x)); };
    const Var last = chain(u, w, layer, {.engine = engine}).last;
    return {last, grad(sum(sin(last)) + zero, w)};
  }
  static Errors errors(const Results& results) {
    const std::vector<Tensor> found = results.tensors();
    return {error({found[0]}, {found[2]}), error({found[1]}, {found[3]})};
  }
  // Examples belong to three classes in turn.
  static Feeds feeds(const Tensor& u) {
    std::vector<std::int64_t> classes;
    for (std::int64_t i = 0; i < u.shape()[0]; ++i) {
      classes.push_back(i % 3);
    }
    return {{"u", u},
            {"w", waves({kLayers, 3, 3}, 1.5, 0.01)},
            {"y", Tensor::of<std::int64_t>({u.shape()[0]}, classes)}};
  }

  Session session_;
  Graph graph_ = session_.graph();
  Vars outputs_;
  std::optional<Executable> step_;
};

const Tensor& batch(int number) {
  static const Tensor batches[] = {waves({4, 3}, 1, 0.7), waves({4, 3}, 2, 1.3),
                                   waves({3, 3}, 1, 0.9)};
  return batches[number];
}

// One cycle each time that starts where the last one ended: as good as more and more cycles.
TEST(MultigridKeptGuess, GoesOnWhereTheLastSolveOfABatchEnded) {
  Training warm(Options{{"guess", "batch"}}), cold(Options{{"guess", "coarse"}});
  Errors last = cold.step(batch(0));
  const Errors first = warm.step(batch(0));
  EXPECT_EQ(first.state, last.state);
  EXPECT_EQ(first.gradient, last.gradient);
  for (int run = 1; run < kLayers / 4; ++run) {
    const Errors now = warm.step(batch(0));
    EXPECT_LT(now.state, std::max(0.5 * last.state, 1e-13)) << run;
    last = now;
  }
  EXPECT_LT(last.state, 1e-13);
  // The adjoint is solved at states that were found a run before.
  EXPECT_LT(warm.step(batch(0)).gradient, 1e-4 * first.gradient);
  EXPECT_EQ(cold.step(batch(0)).state, first.state);
}

TEST(MultigridKeptGuess, KnowsTheBatchesOfAnEpoch) {
  Training knows(Options{{"guess", "batch"}, {"batches", 2}}),
      mistakes(Options{{"guess", "batch"}});
  Errors known{}, mistaken{};
  for (int run = 0; run < 12; ++run) {
    known = knows.step(batch(run % 2));
    mistaken = mistakes.step(batch(run % 2));
  }
  EXPECT_LT(known.state, 1e-5);
  EXPECT_GT(mistaken.state, 100 * known.state);
}

// A last batch that is not full, and one that is larger than was expected.
TEST(MultigridKeptGuess, TakesBatchesOfOtherSizes) {
  Training training(Options{{"guess", "batch"}, {"batches", 2}});
  const Tensor larger = waves({6, 3}, 1, 0.7);
  Errors small{}, large{};
  for (int run = 0; run < 14; ++run) {
    small = training.step(batch(2));
    large = training.step(larger);
  }
  EXPECT_LT(small.state, 1e-5);
  EXPECT_LT(large.state, 1);
}

// Examples whose states are alike within a class.
TEST(MultigridKeptGuess, TakesTheMeansOfAClass) {
  const Tensor alike =
      Tensor::of<double>({4, 3}, {0.3, -0.2, 0.5, 1, 0.4, -0.6, -0.8, 0.1, 0.2, 0.3, -0.2, 0.5});
  const Tensor reordered = Tensor::of<double>({2, 3}, {0.3, -0.2, 0.5, 1, 0.4, -0.6});
  Training training(Options{{"guess", "class-means"}, {"classes", 3}});
  const Errors first = training.step(alike);
  Errors last{};
  for (int run = 0; run < 10; ++run) {
    last = training.step(alike);
  }
  EXPECT_LT(last.state, 1e-3 * first.state);
  EXPECT_LT(training.step(reordered).state, 1e-3 * first.state);
  // Of a class that was never seen, nothing is known.
  Training unseen(Options{{"guess", "class-means"}, {"classes", 3}});
  unseen.step(reordered);
  EXPECT_EQ(unseen.step(alike).state, first.state);
}

// Other examples, whose classes must not be told.
TEST(MultigridKeptGuess, EvaluationStartsFromCoarseGrids) {
  const double cold = Training(Options{{"guess", "coarse"}}).evaluate(batch(0)).state;
  for (const char* guess : {"batch", "class-means"}) {
    Training training(Options{{"guess", guess}, {"classes", 3}});
    for (int run = 0; run < 5; ++run) {
      training.step(batch(0));
    }
    EXPECT_EQ(training.evaluate(batch(0)).state, cold);
  }
}

TEST(MultigridKeptGuess, IsSaved) {
  Training whole(Options{{"guess", "batch"}, {"batches", 2}}),
      resumed(Options{{"guess", "batch"}, {"batches", 2}});
  for (int run = 0; run < 3; ++run) {
    whole.step(batch(run % 2));
  }
  resumed.step(batch(0));  // gives it states
  for (const auto& [name, value] : whole.states().all()) {
    resumed.states().set(name, value.clone());
  }
  for (int run = 3; run < 7; ++run) {
    const Errors want = whole.step(batch(run % 2)), got = resumed.step(batch(run % 2));
    EXPECT_EQ(got.state, want.state);
    EXPECT_EQ(got.gradient, want.gradient);
  }
}

TEST(MultigridKeptGuess, SaysWhatItCannotKeep) {
  expect_error<InvalidArgument>(
      "engine 'multigrid': guess=batch keeps states of shape [batch, 3], and batch is not known "
      "when they are compiled: declare inputs with fixed sizes, or call expect_sizes",
      [] {
        Training(Options{{"guess", "batch"}}, false).step(batch(0));
      });
  expect_error<InvalidArgument>(
      "engine 'multigrid': guess=batch would keep 15 MB of states, for 20000 of batches, and "
      "guess_memory allows 1 MB: coarsen more, or take another guess",
      [] {
        Training(Options{{"guess", "batch"}, {"batches", 20000}, {"guess_memory", 1}})
            .step(batch(0));
      });
  expect_error<InvalidArgument>(
      "engine 'multigrid': guess=class-means needs classes, their number, and labels, the name of "
      "the input that tells the class of each example",
      [] {
        Training(Options{{"guess", "class-means"}}).step(batch(0));
      });
  expect_error<InvalidArgument>(
      "engine 'multigrid': labels=u must be an input of one integer for "
      "each example",
      [] {
        Training(Options{{"guess", "class-means"}, {"classes", 3}, {"labels", "u"}}).step(batch(0));
      });
  expect_error<InvalidArgument>("engine 'multigrid': labels=z is no input of the model", [] {
    Training(Options{{"guess", "class-means"}, {"classes", 3}, {"labels", "z"}}).step(batch(0));
  });
}

}  // namespace antichain::multigrid_test::kept_guess_test
