// Chains made at random, against the steps one after the other: exact when there are as many cycles
// as intervals, and never worse than rounding when they start from the solution.
#include <gtest/gtest.h>

#include <random>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::random_chains_test {

class RandomChain {
 public:
  explicit RandomChain(std::uint64_t seed) : generator_(seed) {}

  std::int64_t number(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(generator_);
  }

  // One or two states of 2 x 3, weights for all steps or one for each, none to two other outputs.
  Model model(std::int64_t steps) {
    const bool two_states = number(0, 1) == 1, own_weights = number(0, 1) == 1;
    const std::int64_t ys = number(0, 2);
    std::vector<std::int64_t> choices;
    for (int i = 0; i < 6; ++i) {
      choices.push_back(number(0, 4));
    }
    Model model{
        .inputs = {{2, 3}, {2, 3}, {steps, 3}, own_weights ? Shape{steps, 3, 3} : Shape{3, 3}}};
    model.chain = [=](const Vars& in, const ChainOptions& options) {
      const Vars states = two_states ? Vars{in[0], in[1]} : Vars{in[0]};
      const Vars xs = own_weights ? Vars{in[2], in[3]} : Vars{in[2]};
      const auto body = [&](Var step, const Vars& s, const Vars& x) {
        const Var weight = own_weights ? x[1] : in[3];
        StepResult result;
        for (std::size_t i = 0; i < s.size(); ++i) {
          const Var other = s[(i + 1) % s.size()];
          Var change = term(choices[i], other, weight, x[0], step);
          change = change + 0.5 * term(choices[i + 2], s[i], weight, x[0], step);
          result.states.push_back(s[i] + 0.1 * change);
        }
        for (std::int64_t i = 0; i < ys; ++i) {
          result.ys.push_back(i == 0 ? sum(s[0] * x[0]) : square(result.states[0]));
        }
        return result;
      };
      return chain(states, xs, body, options);
    };
    return model;
  }

 private:
  static Var term(std::int64_t choice, Var u, Var weight, Var x, Var step) {
    switch (choice) {
      case 0: return tanh(matmul(u, weight));
      case 1: return sin(u + x);
      case 2: return x - u;
      case 3: return mean(u, {1}, true) * x;
      default: return cos(cast(step, u.dtype()) * 0.1) * sigmoid(u);
    }
  }

  std::mt19937_64 generator_;
};

TEST(MultigridRandomChains, AreExactAfterAllCycles) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomChain random(seed);
    const std::int64_t steps = random.number(4, 20), m = random.number(2, 4);
    const Model model = random.model(steps);
    const bool reverse = random.number(0, 1) == 1;
    const char* const coarse[] = {"matched", "matched3", "plain", "same"};
    const char* const guess[] = {"coarse", "first", "zero"};
    std::vector<EngineOption> options = {{"coarsening", m},
                                         {"cycles", std::max<std::int64_t>(steps / m, 1)},
                                         {"coarse", coarse[random.number(0, 3)]},
                                         {"guess", guess[random.number(0, 2)]},
                                         {"relaxations", random.number(0, 2)}};
    const Outcome got = run(model, {.engine = multigrid(options), .reverse = reverse});
    const Outcome want = run(model, {.reverse = reverse});
    EXPECT_LT(error(got.values, want.values), 1e-11) << seed;
    EXPECT_LT(error(got.gradients, want.gradients), 1e-11) << seed;
  }
}

// On three grids and more, cycles are not exact early, but they converge.
TEST(MultigridRandomChains, ConvergeOnManyGrids) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    RandomChain random(seed);
    const Model model = random.model(random.number(16, 40));
    const std::vector<EngineOption> options = {{"coarsening", 2},
                                               {"levels", random.number(3, 5)},
                                               {"cycles", 60},
                                               {"tolerance", 1e-13},
                                               {"cycle", random.number(0, 1) == 1 ? "V" : "F"}};
    const Outcome got = run(model, {.engine = multigrid(options)}), want = run(model, {});
    EXPECT_LT(error(got.values, want.values), 1e-10) << seed;
    EXPECT_LT(error(got.gradients, want.gradients), 1e-10) << seed;
  }
}

}  // namespace antichain::multigrid_test::random_chains_test
