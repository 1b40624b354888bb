// When rows are hashed again, and which: by schedule, by drift, with new functions.
#include <gtest/gtest.h>

#include "antichain/nn/wide.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/hashing/hash_tables.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::hashing_tests::rehash_test {

constexpr std::int64_t kUnits = 300, kFeatures = 16, kTables = 6, kPieces = 4;
constexpr std::int64_t kBucket = 64;

std::string engine(const std::string& more, const std::string& transform = "none") {
  return "active=30,K=4,L=6,bucket=64,transform=" + transform + "," + more;
}

// What the weights of now are hashed to, by the functions that the training has.
Tensor codes_of_now(HashedTraining& training, HashTransform transform) {
  Session session;
  Graph graph = session.graph();
  const HashSpec spec{
      .transform = transform, .pieces = kPieces, .tables = kTables, .features = kFeatures};
  const HashBy by{
      spec,
      graph.input("functions", spec.functions_dtype(), {spec.coordinates(), kPieces * kTables}),
      graph.input("largest", f32, {})};
  const Var codes = hash_data(graph.input("weight", f32, {kUnits, kFeatures}),
                              graph.input("bias", f32, {kUnits}), by);
  return session.compile({codes})({{"functions", training.own_state("functions")},
                                   {"largest", training.own_state("largest")},
                                   {"weight", training.state("0.weight")},
                                   {"bias", training.state("0.bias")}})[0];
}

std::vector<Tensor> tables_of(const Tensor& codes) {
  Session session;
  Graph graph = session.graph();
  const HashTables tables =
      hash_tables(graph.input("codes", i32, {kTables, kUnits}),
                  {.num_codes = std::int64_t{1} << kPieces, .bucket = kBucket});
  return session.compile({tables.starts, tables.ids})({{"codes", codes}}).tensors();
}

std::vector<bool> marks_of(const HashedTraining& training) {
  const Tensor marks = training.own_state("marks");
  std::vector<bool> all;
  for (std::int64_t i = 0; i < kUnits; ++i) {
    all.push_back(marks.data<bool>()[i]);
  }
  return all;
}

bool same_column(const Tensor& a, const Tensor& b, std::int64_t unit) {
  for (std::int64_t table = 0; table < kTables; ++table) {
    const std::int64_t at = table * kUnits + unit;
    if (a.data<std::int32_t>()[at] != b.data<std::int32_t>()[at]) {
      return false;
    }
  }
  return true;
}

// Steps after which the codes were others than before.
std::vector<int> steps_that_hash(const std::string& options, int steps, double lr = 0.05) {
  HashedTraining training({.engine = options, .lr = lr});
  std::vector<int> found;
  Tensor before = training.own_state("codes").clone();
  for (int step = 1; step <= steps; ++step) {
    training.step();
    const Tensor now = training.own_state("codes").clone();
    if (!same_bits(before, now)) {
      found.push_back(step);
    }
    before = now;
  }
  return found;
}

TEST(Rehash, IntervalsOfTheScheduleGrow) {
  EXPECT_EQ(steps_that_hash(engine("rehash=3,rehash_growth=2"), 30), (std::vector{3, 9, 21}));
  EXPECT_EQ(steps_that_hash(engine("rehash=4,rehash_growth=1"), 17), (std::vector{4, 8, 12, 16}));
  EXPECT_TRUE(steps_that_hash(engine("rehash=100"), 20).empty());
}

TEST(Rehash, AllRowsHaveTheCodesOfTheirWeights) {
  for (const HashTransform transform : {HashTransform::none, HashTransform::norms}) {
    const std::string name = HashSpec::transform_names()[static_cast<std::size_t>(transform)];
    SCOPED_TRACE(name);
    HashedTraining training({.engine = engine("rehash=5,rehash_growth=1,rehash_rows=all", name)});
    training.steps(4);
    EXPECT_FALSE(same_bits(training.own_state("codes"), codes_of_now(training, transform)));
    training.step();
    EXPECT_TRUE(same_bits(training.own_state("codes"), codes_of_now(training, transform)));
  }
}

TEST(Rehash, UsedRowsAlone) {
  HashedTraining training({.engine = engine("rehash=4,rehash_growth=1"), .examples = 3});
  const Tensor before = training.own_state("codes").clone();
  training.steps(3);
  const std::vector<bool> used = marks_of(training);
  EXPECT_TRUE(same_bits(training.own_state("codes"), before));
  const auto count = std::ranges::count(used, true);
  EXPECT_GE(count, 30);
  EXPECT_LT(count, kUnits) << "the check needs rows that nobody used";
  // Rows that no step uses keep the weights that they began with, so their codes are those of now,
  // too; that they are not computed is seen where their weights are changed from outside.
  Tensor weight = training.state("0.weight").clone();
  for (std::int64_t i = 0; i < weight.numel(); ++i) {
    weight.data<float>()[i] *= i % 2 == 0 ? -1.0F : 1.0F;
  }
  training.session().states().set("out.0.weight", weight);
  training.step();
  const Tensor now = training.own_state("codes"), all = codes_of_now(training, HashTransform::none);
  std::int64_t kept = 0;
  for (std::int64_t unit = 0; unit < kUnits; ++unit) {
    if (same_column(now, before, unit) && !same_column(now, all, unit)) {
      ++kept;
      EXPECT_FALSE(used[static_cast<std::size_t>(unit)]) << unit;
    } else {
      EXPECT_TRUE(same_column(now, all, unit)) << unit;
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_EQ(std::ranges::count(marks_of(training), true), 0) << "all of them were hashed";
}

TEST(Rehash, TablesFollowTheCodes) {
  HashedTraining training({.engine = engine("rehash=3,new_functions=5,drift=0.001")});
  for (int step = 0; step < 12; ++step) {
    const std::vector<Tensor> tables = tables_of(training.own_state("codes"));
    EXPECT_TRUE(same_bits(training.own_state("starts"), tables[0])) << step;
    EXPECT_TRUE(same_bits(training.own_state("ids"), tables[1])) << step;
    training.step();
  }
}

TEST(Rehash, NotBeforeCodesHaveDrifted) {
  const auto times = [](const std::string& drift, double lr) {
    return steps_that_hash(engine("rehash=1,rehash_growth=1,drift=" + drift), 40, lr).size();
  };
  constexpr double kRate = 0.004;
  const std::size_t always = times("0", kRate), often = times("0.04", kRate),
                    rarely = times("0.1", kRate);
  EXPECT_EQ(always, 40U);
  EXPECT_LT(often, always);
  EXPECT_GT(often, rarely);
  EXPECT_GT(rarely, 0U);
  EXPECT_EQ(times("1", kRate), 0U);
  EXPECT_EQ(times("0.1", 1e-9), 0U) << "nothing drifts";
}

TEST(Rehash, NewFunctionsHashEveryRow) {
  HashedTraining training({.engine = engine("rehash=1000,new_functions=6", "norms")});
  Tensor functions = training.own_state("functions").clone();
  for (int step = 1; step <= 13; ++step) {
    training.step();
    const bool are_new = !same_bits(functions, training.own_state("functions"));
    EXPECT_EQ(are_new, step % 6 == 0) << step;
    if (are_new) {
      EXPECT_TRUE(
          same_bits(training.own_state("codes"), codes_of_now(training, HashTransform::norms)));
    }
    functions = training.own_state("functions").clone();
  }
}

// Evaluation looks into the tables of the training, if it does, and leaves them as they are.
TEST(Rehash, OnlyInTraining) {
  HashedTraining training({.engine = engine("rehash=1")});
  training.steps(3);
  Session& session = training.session();
  const Feeds batch = training.batch(3);
  const auto losses = [&](const std::string& inference) {
    Graph graph = session.graph();
    const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                              .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
    const Var x = graph.input("x", f32, {"batch", kFeatures});
    const std::string choice = "hashing:when=always," + engine("inference=" + inference);
    return session
        .compile({nn::wide_losses(x, {kUnits}, truth,
                                  {.name = "out", .engine = choice, .training = false})})(batch)[0]
        .to_vector<float>();
  };
  const StateStore::Values before = session.states().all();
  EXPECT_NE(losses("hashed"), losses("dense"));
  EXPECT_EQ(losses("hashed"), losses("hashed"));
  EXPECT_TRUE(same_bits(before, session.states().all()));
}

}  // namespace antichain::hashing_tests::rehash_test
