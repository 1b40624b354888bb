// What a training by the engine hashing promises: it learns, its bits depend on nothing but the
// seed, and it goes on where it was.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "antichain/autodiff/grad.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/sgd.h"
#include "antichain/passes/graph_copy.h"
#include "antichain/session/eager.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::hashing_tests::hashing_training_test {

// Everything that changes now and then, often.
constexpr const char* kRestless =
    "active=60,K=4,L=12,rehash=3,drift=0.01,new_functions=7,rehash_growth=1.1";

double report(HashedTraining& training, const std::string& name) {
  return training.session().states().get("report/out." + name).item<double>();
}

struct Form {
  const char* engine;
  std::vector<std::int64_t> widths;
};
const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"active=60,K=4,L=20", {300}},
      {"active=100,K=4,L=20,for=batch", {300}},
      {"active=100,K=4,L=20", {200, 300}},
      {"active=150,K=4,L=20,for=batch", {200, 300}},
      {"active=100,K=4,L=20", {200, 200, 300}},
  };
  return all;
}

TEST(HashingTraining, LearnsInEveryForm) {
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.engine);
    HashedTraining training({.engine = form.engine, .widths = form.widths});
    const double first = training.step();
    EXPECT_LT(training.steps(250), 0.5 * first) << form.widths.size() << " layers";
  }
}

// A race that loses a few changes: no bits to compare, but it learns, on one thread and on several.
TEST(HashingTraining, LearnsWithoutLocks) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "it is a race, and meant to be";
#endif
  const int before = cpu::num_threads();
  for (const int threads : {1, 2, 5}) {
    cpu::set_num_threads(threads);
    HashedTraining training({.engine = "active=80,K=4,updates=hogwild", .lr = 0.005});
    const double first = training.step();
    EXPECT_LT(training.steps(200), 0.7 * first) << threads << " threads";
  }
  cpu::set_num_threads(before);
}

TEST(HashingTraining, LearnsByEveryFamilyTransformAndSelection) {
  for (const char* engine :
       {"family=simhash,K=4", "family=wta,K=2", "family=dwta,K=2", "family=minhash,K=1",
        "transform=none,K=4", "transform=powers,K=4", "select=vanilla,K=4", "select=top,K=4",
        "select=threshold,threshold=3,K=4", "policy=fifo,bucket=8,K=4",
        "policy=reservoir,bucket=8,K=4", "probes=3,L=5,K=4", "K=9,range=40", "K=4,drawn=0",
        "K=4,drawn=0.9", "share=0.4,K=4"}) {
    SCOPED_TRACE(engine);
    const std::string active = std::string(engine).starts_with("share") ? "" : ",active=80";
    HashedTraining training({.engine = engine + active});
    const double first = training.step();
    EXPECT_LT(training.steps(200), 0.6 * first);
  }
}

// No value of an option is another one under another name.
TEST(HashingTraining, EveryOptionChangesTheRun) {
  const auto loss = [](const std::string& set) {
    HashedTraining training({.engine = "L=20,rehash_growth=1.2,rehash=5," + set});
    return training.steps(60);
  };
  const std::string usual = "K=4,active=60";
  for (const std::vector<std::string>& values : std::vector<std::vector<std::string>>{
           {"K=4,active=60", "K=5,active=60", "K=4,active=50", "K=4,share=0.3"},
           {usual + ",L=10", usual + ",L=11"},
           {"active=60,K=1,family=simhash", "active=60,K=1,family=wta", "active=60,K=1,family=dwta",
            "active=60,K=1,family=minhash"},
           {usual + ",transform=none", usual + ",transform=norms", usual + ",transform=powers"},
           {usual + ",probes=1", usual + ",probes=2"},
           {usual + ",range=0", usual + ",range=5", usual + ",range=6"},
           {usual + ",bucket=4,policy=fifo", usual + ",bucket=4,policy=reservoir",
            usual + ",bucket=6,policy=fifo"},
           {usual + ",select=vanilla", usual + ",select=top",
            usual + ",select=threshold,threshold=2", usual + ",select=threshold,threshold=4"},
           {usual + ",drawn=0.1", usual + ",drawn=0.6"},
           {usual + ",for=example", usual + ",for=batch"},
           {usual + ",rehash=10", usual + ",rehash=20"},
           {usual + ",rehash_growth=1", usual + ",rehash_growth=2"},
           {usual + ",drift=0", usual + ",drift=1"},
           {usual + ",new_functions=0", usual + ",new_functions=9", usual + ",new_functions=10"}}) {
    std::map<double, std::string> losses;
    for (const std::string& value : values) {
      const auto [other, is_new] = losses.try_emplace(loss(value), value);
      EXPECT_TRUE(is_new) << value << " is the same as " << other->second;
    }
  }
}

TEST(HashingTraining, SameBitsOnAnyNumberOfThreads) {
  const int before = cpu::num_threads();
  for (const char* whose : {",for=example", ",for=batch"}) {
    SCOPED_TRACE(whose);
    std::vector<StateStore::Values> states;
    for (const int threads : {1, 2, 5}) {
      cpu::set_num_threads(threads);
      HashedTraining training({.engine = std::string(kRestless) + whose,
                               .widths = {400, 1500},
                               .features = 40,
                               .examples = 50});
      training.steps(25);
      states.push_back(training.session().states().all());
    }
    EXPECT_TRUE(same_bits(states[0], states[1]));
    EXPECT_TRUE(same_bits(states[0], states[2]));
  }
  cpu::set_num_threads(before);
}

TEST(HashingTraining, ResumesToTheBit) {
  constexpr int kHalf = 23;
  for (const char* whose : {",for=example", ",for=batch"}) {
    SCOPED_TRACE(whose);
    const TrainingOptions options{.engine = std::string(kRestless) + whose, .widths = {100, 300}};
    HashedTraining through(options);
    through.steps(kHalf);
    const StateStore::Values saved = through.session().states().all();
    EXPECT_TRUE(saved.contains("out.1.hashing.codes"));
    EXPECT_FALSE(saved.contains("out.1.hashing.ids")) << "tables are made again, not saved";
    EXPECT_FALSE(saved.contains("out.1.hashing.starts"));
    HashedTraining resumed({.engine = options.engine, .widths = options.widths, .seed = 99});
    resumed.resume(kHalf, saved);
    EXPECT_TRUE(same_bits(resumed.own_state("ids"), through.own_state("ids")));
    EXPECT_TRUE(same_bits(resumed.own_state("starts"), through.own_state("starts")));
    const double loss = through.steps(kHalf);
    EXPECT_EQ(resumed.steps(kHalf), loss);
    EXPECT_TRUE(same_bits(through.session().states().all(), resumed.session().states().all()));
  }
}

TEST(HashingTraining, ReportsSharesOfUnits) {
  HashedTraining training({.engine = "active=60,K=4,L=20,drawn=0.25", .widths = {300}});
  training.steps(5);
  EXPECT_DOUBLE_EQ(report(training, "active_share"), 60.0 / 300);
  const double found = report(training, "found_share");
  EXPECT_GT(found, 0.1);
  EXPECT_LE(found, 0.75 + 1e-9);  // a quarter is drawn
}

// In eager mode a step at a time, on the same states: with all units the losses are those of the
// layer as it is, with some they are near.
TEST(HashingTraining, InEagerMode) {
  const auto loss = [](const std::string& engine) {
    Session session({.seed = 2});
    Eager eager(session);
    const Var x = eager(Tensor::full(f64, {3, 4}, 0.5));
    const nn::LabelSets truth{.labels = eager(Tensor::of<std::int64_t>({3}, {7, 0, 11})),
                              .row_starts = eager(Tensor::of<std::int64_t>({4}, {0, 1, 2, 3}))};
    const Var losses = nn::wide_losses(x, {50}, truth, {.name = "out", .engine = engine});
    const Var slope = grad(sum(losses), x);
    return std::pair(losses.value().to_vector<double>()[0], slope.value().to_vector<double>()[0]);
  };
  const auto exact = loss("backprop"), all = loss("hashing:when=always,K=2,active=50"),
             some = loss("hashing:when=always,K=2,active=30");
  EXPECT_NEAR(all.first, exact.first, 1e-9);
  EXPECT_NEAR(all.second, exact.second, 1e-9);
  EXPECT_NEAR(some.first, exact.first, 0.1);
}

// What an optimiser does with a gradient of rows: lazily where it can.
TEST(HashingTraining, ByEveryOptimiser) {
  const std::vector<std::pair<const char*, Optimiser>> optimisers = {
      {"sgd", [](Var loss) { return optim::sgd(loss, {.lr = 0.5, .momentum = 0.9}); }},
      {"adamw", [](Var loss) { return optim::adamw(loss, {.lr = 0.02, .weight_decay = 0.01}); }},
      {"adagrad", [](Var loss) { return optim::adagrad(loss, {.lr = 0.1}); }},
      {"rmsprop", [](Var loss) { return optim::rmsprop(loss, {.lr = 0.01}); }},
      {"lamb", [](Var loss) { return optim::lamb(loss, {.lr = 0.02}); }},
      {"clipped",
       [](Var loss) { return optim::adam(loss, {.lr = 0.02, .step = {.clip_norm = 1}}); }},
      {"accumulating",
       [](Var loss) { return optim::adam(loss, {.lr = 0.04, .step = {.accumulate = 2}}); }},
      {"scaled", [](Var loss) {
         return optim::adam(loss, {.lr = 0.02, .step = {.loss_scaling = {.scale = 64}}});
       }}};
  for (const auto& [name, optimiser] : optimisers) {
    SCOPED_TRACE(name);
    HashedTraining training({.engine = "active=80,K=4", .optimiser = optimiser});
    const double first = training.step();
    EXPECT_LT(training.steps(200), 0.7 * first);
  }
}

// Rows that a step does not use keep their bits, and so do their moments.
TEST(HashingTraining, OtherRowsStay) {
  HashedTraining training({.engine = "active=20,K=4,drawn=0.2,rehash=1000", .examples = 2});
  const Tensor before = training.state("0.weight").clone();
  training.step();
  const Tensor used = training.own_state("marks"), after = training.state("0.weight");
  int changed = 0;
  for (std::int64_t unit = 0; unit < 300; ++unit) {
    const float* const row = after.data<float>() + unit * 16;
    const bool is_same = std::equal(row, row + 16, before.data<float>() + unit * 16);
    changed += is_same ? 0 : 1;
    EXPECT_TRUE(is_same || used.data<bool>()[unit]) << unit;
  }
  EXPECT_GE(changed, 20);
  EXPECT_LE(changed, 40);
}

TEST(HashingTraining, LearnsInMixedPrecision) {
  for (const char* engine : {"active=80,K=4", "active=120,K=4,for=batch"}) {
    HashedTraining training({.engine = engine, .compute = DType::bf16});
    EXPECT_EQ(training.state("0.weight").dtype(), DType::f32);
    const double first = training.step();
    EXPECT_LT(training.steps(200), 0.6 * first) << engine;
  }
}

// A batch of another size is another frame of the same executable, with the same tables.
TEST(HashingTraining, BatchesOfAnySize) {
  HashedTraining training({.engine = "active=60,K=4"});
  training.steps(3);
  const Feeds one = {{"x", Tensor::full(f32, {1, 16}, 0.5)},
                     {"labels", Tensor::of<std::int64_t>({1}, {299})},
                     {"starts", Tensor::of<std::int64_t>({2}, {0, 1})}};
  EXPECT_TRUE(std::isfinite(training.executable()(one)[0].item<float>()));
  training.steps(3);
}

// No two units of a batch are equal: each has one row of the gradient.
TEST(HashingTraining, UnitsOfABatchAreNotSortedAgain) {
  HashedTraining training({.engine = "for=batch,active=100"});
  EXPECT_FALSE(has_op(training.executable().graph(),
                      [](Op op) { return &op.def() == &unique_indices_def(); }));
  const double first = training.step();
  EXPECT_LT(training.steps(150), 0.8 * first);
}

}  // namespace antichain::hashing_tests::hashing_training_test
