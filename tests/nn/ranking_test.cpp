#include "antichain/nn/ranking.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"
#include "tests/autodiff/finite_difference.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::ranking_test {

using Doubles = std::vector<double>;

struct Sets {
  std::vector<std::int64_t> labels, starts = {0};
};

// Any number of different labels per example, none for some, in no order.
Sets draw_sets(std::int64_t examples, std::int64_t classes, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Sets sets;
  for (std::int64_t example = 0; example < examples; ++example) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(classes));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::shuffle(all, engine);
    all.resize(engine() % 6);
    sets.labels.insert(sets.labels.end(), all.begin(), all.end());
    sets.starts.push_back(static_cast<std::int64_t>(sets.labels.size()));
  }
  return sets;
}

class Rankings : public testing::Test {
 protected:
  LabelSets constants(const Sets& sets) {
    return {.labels = constant(graph, Tensor::of({std::ssize(sets.labels)}, sets.labels)),
            .row_starts = constant(graph, Tensor::of({std::ssize(sets.starts)}, sets.starts))};
  }
  Doubles run(Var value) { return session.compile({value})({})[0].to_vector<double>(); }

  Session session;
  Graph graph = session.graph();
};

TEST_F(Rankings, PrecisionsOfPlainLoops) {
  constexpr std::int64_t kExamples = 37, kClasses = 11, kMost = 5;
  const Tensor logits = random_values({kExamples, kClasses}, 3);
  const Sets sets = draw_sets(kExamples, kClasses, 5);
  const Tensor scores = random_values({kClasses}, 4, 1, 9);
  const LabelSets truth = constants(sets);
  const Ranking ranking = rank_labels(constant(graph, logits), truth, kMost);
  for (const std::int64_t k : {1, 3, 5}) {
    const ScoredPrecision scored = scored_precision_at(ranking, truth, constant(graph, scores), k);
    const Doubles precision = run(precision_at(ranking, k)), reached = run(scored.reached),
                  most = run(scored.most);
    for (std::int64_t example = 0; example < kExamples; ++example) {
      const auto at = static_cast<std::size_t>(example);
      const std::set<std::int64_t> own(sets.labels.begin() + sets.starts[at],
                                       sets.labels.begin() + sets.starts[at + 1]);
      std::vector<std::int64_t> order(kClasses);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, std::greater(), [&](std::int64_t label) {
        return logits.data<double>()[example * kClasses + label];
      });
      Doubles own_scores;
      for (const std::int64_t label : own) {
        own_scores.push_back(scores.data<double>()[label]);
      }
      std::ranges::sort(own_scores, std::greater());
      own_scores.resize(static_cast<std::size_t>(k));  // zeros where there are fewer
      double hits = 0, gain = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t label = order[static_cast<std::size_t>(i)];
        hits += own.contains(label) ? 1 : 0;
        gain += own.contains(label) ? scores.data<double>()[label] : 0;
      }
      const auto divided = static_cast<double>(k);
      EXPECT_NEAR(precision[at], hits / divided, 1e-6);
      EXPECT_NEAR(reached[at], gain / divided, 1e-5);
      EXPECT_NEAR(most[at], std::accumulate(own_scores.begin(), own_scores.end(), 0.0) / divided,
                  1e-5);
    }
  }
}

TEST_F(Rankings, WithoutAnyTrueLabel) {
  const LabelSets truth = constants({{}, {0, 0, 0}});
  const Ranking ranking = rank_labels(constant(graph, random_values({2, 4}, 1)), truth, 3);
  EXPECT_THAT(run(precision_at(ranking, 3)), testing::ElementsAre(0, 0));
  const ScoredPrecision scored =
      scored_precision_at(ranking, truth, constant(graph, random_values({4}, 2)), 3);
  EXPECT_THAT(run(scored.reached), testing::ElementsAre(0, 0));
  EXPECT_THAT(run(scored.most), testing::ElementsAre(0, 0));
}

TEST_F(Rankings, SayWhatIsWrong) {
  const LabelSets truth = constants({{1}, {0, 1}});
  const Var logits = constant(graph, random_values({1, 4}, 1));
  const Ranking ranking = rank_labels(logits, truth, 2);
  expect_error<InvalidArgument>("precision_at: k is 3, but only 2 labels are ranked",
                                [&] { precision_at(ranking, 3); });
  expect_error<InvalidArgument>(
      "scored_precision_at: scores must be floating-point, one for each label",
      [&] { scored_precision_at(ranking, truth, truth.labels, 1); });
  EXPECT_THROW(rank_labels(logits, {}, 1), InvalidArgument);
  EXPECT_THROW(rank_labels(logits, truth, 5), ShapeError);
}

}  // namespace antichain::nn::ranking_test
