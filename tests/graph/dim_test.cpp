#include "antichain/graph/dim.h"

#include <gtest/gtest.h>

#include <limits>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::dim_test {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

class DimTest : public testing::Test {
 protected:
  DimPool pool;
  Dim n = pool.symbol("n"), m = pool.symbol("m"), k = pool.symbol("k", {1, 8});
};

TEST_F(DimTest, ConstantsNeedNoPool) {
  EXPECT_EQ(Dim(2) + 3, Dim(5));
  EXPECT_EQ(Dim(2) - 3, Dim(-1));
  EXPECT_EQ(Dim(2) * 3, Dim(6));
  EXPECT_EQ(Dim(7) / 2, Dim(3));
  EXPECT_EQ(Dim(7) % 2, Dim(1));
  EXPECT_EQ(min(Dim(7), Dim(2)), Dim(2));
  EXPECT_EQ(max(Dim(7), Dim(2)), Dim(7));
  EXPECT_EQ(Dim(7).constant(), 7);
  EXPECT_EQ(Dim().constant(), 0);
}

TEST_F(DimTest, DivisionRoundsDown) {
  EXPECT_EQ(Dim(-7) / 2, Dim(-4));
  EXPECT_EQ(Dim(7) / -2, Dim(-4));
  EXPECT_EQ(Dim(-8) / 2, Dim(-4));
  EXPECT_EQ(Dim(-7) % 2, Dim(1));
  EXPECT_EQ(Dim(7) % -2, Dim(-1));
  EXPECT_EQ(Dim(kMin) % -1, Dim(0));
}

TEST_F(DimTest, EqualExpressionsAreTheSame) {
  EXPECT_EQ(n + m, m + n);
  EXPECT_EQ(n * m * n, n * n * m);
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ((n + m) * 2 - n - m, m + n);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(n * 0 + 5, Dim(5));
  EXPECT_EQ(n + 1 - 1, n);
  EXPECT_EQ((n + 1) / 2, (1 + n) / 2);
  EXPECT_EQ((n * 2 + 1) % 4, (1 + n + n) % 4);
  EXPECT_EQ(min(n, m), min(m, n));
  EXPECT_EQ(max(n, 64), max(Dim(64), n));
  EXPECT_EQ((n + m).hash(), (m + n).hash());
  EXPECT_FALSE(n == m);
  EXPECT_FALSE(n == n + 1);
  EXPECT_FALSE(n / 2 == n % 2);
  EXPECT_FALSE(min(n, m) == max(n, m));
  EXPECT_TRUE(pool.symbol("n") == n);
}

TEST_F(DimTest, ExactDivisionLeavesNoFloor) {
  EXPECT_EQ(n * m / m, n);
  EXPECT_EQ((n * 6 + 9) / 3, n * 2 + 3);
  EXPECT_EQ((n * n * m - n * 4) / n, n * m - 4);
  EXPECT_EQ((n + m) / (n + m), Dim(1));
  EXPECT_EQ(Dim(0) / n, Dim(0));
  EXPECT_EQ(n / 1, n);
  EXPECT_EQ(n * 6 % 3, Dim(0));
  EXPECT_EQ(n * m % n, Dim(0));
  EXPECT_EQ(Dim(0) % n, Dim(0));
  EXPECT_EQ(n % 1, Dim(0));
  EXPECT_EQ((n * 6 + 4) / 3, (n * 6 + 4) / 3);
  EXPECT_FALSE((n * 6 + 4) / 3 == n * 2 + 1);
}

TEST_F(DimTest, MinimumAndMaximumDecideByRanges) {
  EXPECT_EQ(min(n, n + 1), n);
  EXPECT_EQ(max(n, n + 1), n + 1);
  EXPECT_EQ(min(k, 8), k);
  EXPECT_EQ(max(k, 1), k);
  EXPECT_EQ(max(n, 0), n);
  EXPECT_EQ(min(n, -1), Dim(-1));
  EXPECT_EQ(min(n, n), n);
  EXPECT_EQ(min(Dim(kMax), Dim(-5)), Dim(-5));
  EXPECT_EQ(max(Dim(kMin), Dim(5)), Dim(5));
  EXPECT_FALSE(min(k, 4).is_constant());
}

TEST_F(DimTest, Ranges) {
  const auto expect_range = [](Dim dim, std::int64_t min, std::int64_t max) {
    EXPECT_EQ(dim.range().min, min) << dim.str();
    EXPECT_EQ(dim.range().max, max) << dim.str();
  };
  constexpr std::int64_t kInfinity = DimRange::kUnbounded;
  const Dim d = pool.symbol("d", {-3, 2});
  expect_range(Dim(5), 5, 5);
  expect_range(n, 0, kInfinity);
  expect_range(n + 1, 1, kInfinity);
  expect_range(-1 * n, -kInfinity, 0);
  expect_range(n - m, -kInfinity, kInfinity);
  expect_range(k * 3 - 1, 2, 23);
  expect_range(k * k, 1, 64);
  expect_range(d * k, -24, 16);
  expect_range(d * -2, -4, 6);
  expect_range(k / 3, 0, 2);
  expect_range((k + 8) / k, 1, 16);
  expect_range(n / 2, 0, kInfinity);
  expect_range(d / 2, -kInfinity, kInfinity);
  expect_range(d % 5, 0, 4);
  expect_range(n % k, 0, 7);
  expect_range(min(k, 4), 1, 4);
  expect_range(max(k, 4), 4, 8);
  expect_range(k * kMax, kMax, kInfinity);
}

TEST_F(DimTest, NeverEqual) {
  EXPECT_TRUE(never_equal(2, 3));
  EXPECT_FALSE(never_equal(3, 3));
  EXPECT_TRUE(never_equal(n, n + 1));
  EXPECT_TRUE(never_equal(n, -1));
  EXPECT_TRUE(never_equal(k, 9));
  EXPECT_TRUE(never_equal(k * 2, 1));
  EXPECT_FALSE(never_equal(n, m));
  EXPECT_FALSE(never_equal(n, 5));
  EXPECT_FALSE(never_equal(k, 8));
  EXPECT_TRUE(never_equal(kMax, -5));
  EXPECT_TRUE(never_equal(kMin, 5));
}

TEST_F(DimTest, Symbols) {
  EXPECT_TRUE(n.is_symbol());
  EXPECT_FALSE((n + 1).is_symbol());
  EXPECT_FALSE((n * 2).is_symbol());
  EXPECT_FALSE((n * n).is_symbol());
  EXPECT_FALSE((n / 2).is_symbol());
  EXPECT_FALSE(Dim(3).is_symbol());
  EXPECT_EQ(pool.symbol_name(k.symbol()), "k");
  EXPECT_EQ(pool.symbol_range(k.symbol()).max, 8);
  const Dim a = pool.fresh("size", {2, 5}), b = pool.fresh("size");
  EXPECT_FALSE(a == b);
  EXPECT_EQ(a.str(), "size#0");
  EXPECT_EQ(b.str(), "size#1");
  EXPECT_EQ(a.range().min, 2);
  std::vector<std::uint32_t> found;
  (n * m / (k + 1)).collect_symbols(found);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector{n.symbol(), m.symbol(), k.symbol()}));
}

TEST_F(DimTest, Prints) {
  EXPECT_EQ((n * 2 + 1).str(), "2*n + 1");
  EXPECT_EQ((1 - n).str(), "-n + 1");
  EXPECT_EQ((n * n - m * 3).str(), "-3*m + n*n");
  EXPECT_EQ((n / 2).str(), "floor((n)/(2))");
  EXPECT_EQ((n % 2 * 4).str(), "4*((n)%(2))");
  EXPECT_EQ(min(n, 4).str(), "min(n, 4)");
  EXPECT_EQ(max(Dim(4), n).str(), "max(n, 4)");
  EXPECT_EQ((n + kMin).str(), "n - 9223372036854775808");
  EXPECT_EQ(to_string(Dims{n, m * 2, 3}), "[n, 2*m, 3]");
  EXPECT_EQ(to_string(Dims{}), "[]");
}

TEST_F(DimTest, Substitutes) {
  const std::unordered_map<std::uint32_t, Dim> by = {{n.symbol(), m + 1}, {k.symbol(), Dim(3)}};
  EXPECT_EQ(n.substitute(by), m + 1);
  EXPECT_EQ((n * n + k).substitute(by), m * m + m * 2 + 4);
  EXPECT_EQ((n / k).substitute(by), (m + 1) / 3);
  EXPECT_EQ((n % k).substitute(by), (m + 1) % 3);
  EXPECT_EQ(min(n, k * 5).substitute(by), min(m + 1, 15));
  EXPECT_EQ(max(n, k * 5).substitute(by), max(m + 1, 15));
  EXPECT_EQ(((n / 2) * (n / 2)).substitute({{n.symbol(), Dim(7)}}), Dim(9));
  EXPECT_EQ(m.substitute(by), m);
  EXPECT_EQ(Dim(3).substitute(by), Dim(3));
  EXPECT_EQ(substitute(Dims{n, m}, by), (Dims{m + 1, m}));
}

TEST_F(DimTest, Evaluates) {
  DimEnv env;
  EXPECT_FALSE((n + m).is_bound(env));
  env.bind(n.symbol(), 7);
  EXPECT_FALSE((n + m).is_bound(env));
  EXPECT_FALSE((n / m).is_bound(env));
  env.bind(m.symbol(), 3);
  EXPECT_TRUE((n / m).is_bound(env));
  EXPECT_EQ((n * m - n / m + n % m).evaluate(env), 21 - 2 + 1);
  EXPECT_EQ(evaluate(Dims{n, m * 2, 5}, env), (std::vector<std::int64_t>{7, 6, 5}));
  EXPECT_EQ(numel(Dims{n, m, 2}).evaluate(env), 42);
  EXPECT_EQ(numel(Dims{}), Dim(1));
  env.clear();
  EXPECT_FALSE(n.is_bound(env));
}

TEST_F(DimTest, ExpectedSizes) {
  EXPECT_EQ(Dim(7).expected(), 7);
  EXPECT_EQ(n.expected(), std::nullopt);
  EXPECT_EQ(pool.symbol("n", {.expected = 12}), n);
  EXPECT_EQ(n.expected(), 12);
  EXPECT_EQ((2 * n + n * n / 5).expected(), 24 + 28);
  EXPECT_EQ((n + m).expected(), std::nullopt) << "nothing is known of m";
  pool.symbol("m", {.expected = 3});
  EXPECT_EQ(max(n, 20 * m).expected(), 60);
  pool.symbol("m");
  EXPECT_EQ(m.expected(), 3) << "asked for again, not declared";
  pool.symbol("m", {.expected = 4});
  EXPECT_EQ(m.expected(), 4);
  EXPECT_FALSE(n.is_bound(DimEnv())) << "an expected size is no value";
  const DimEnv sizes = pool.expected_sizes();
  EXPECT_EQ(sizes.value(n.symbol()), 12);
  EXPECT_FALSE(sizes.is_bound(k.symbol()));
  expect_error<ShapeError>("dim 'k' is expected to be 9, outside its range [1, 8]",
                           [&] { pool.symbol("k", {.min = 1, .max = 8, .expected = 9}); });
  EXPECT_EQ(pool.symbol("new", {.min = 2, .expected = 5}).expected(), 5);
}

TEST_F(DimTest, Errors) {
  DimEnv env;
  env.bind(m.symbol(), 0);
  expect_error<ShapeError>(
      "dim 'n' has no value: no input that is fed has it as a size, and no op that "
      "ran found it out",
      [&] { (n + 1).evaluate(env); });
  expect_error<ShapeError>("a size is divided by zero", [&] { (Dim(3) / m).evaluate(env); });
  expect_error<ShapeError>("dim 'n' is divided by zero", [&] { n / 0; });
  expect_error<ShapeError>("dim '3' is divided by zero", [&] { Dim(3) % 0; });
  expect_error<InternalError>("dim 'n' is not a constant", [&] { n.constant(); });
  expect_error<InternalError>("dim '2*n' is not a symbol", [&] { (n * 2).symbol(); });
  expect_error<ShapeError>("dim 'x' has an empty range [3, 2]", [&] { pool.symbol("x", {3, 2}); });
  expect_error<ShapeError>("dim 'k' was declared with range [1, 8] and again with [1, 9]", [&] {
    pool.symbol("k", {1, 9});
  });
}

TEST_F(DimTest, OverflowIsAnError) {
  expect_error<ShapeError>("a size overflows: 9223372036854775807 + 1", [] { Dim(kMax) + 1; });
  expect_error<ShapeError>("a size overflows: 9223372036854775807 * 2", [] { Dim(kMax) * 2; });
  expect_error<ShapeError>("a size overflows: -9223372036854775808 * -1", [] { Dim(kMin) / -1; });
  expect_error<ShapeError>("a size overflows: 9223372036854775807 * 2", [&] { n* kMax * 2; });
  DimEnv env;
  env.bind(n.symbol(), std::int64_t{1} << 40);
  expect_error<ShapeError>("a size overflows: 1099511627776 * 1099511627776",
                           [&] { (n * n).evaluate(env); });
  EXPECT_EQ((n * kMin / -1).str(), "floor((-9223372036854775808*n)/(-1))");
}

TEST_F(DimTest, DifferentPoolsDoNotMix) {
  DimPool other;
  const Dim stranger = other.symbol("batch");
  expect_error<ShapeError>("dims 'n' and 'batch' belong to different graphs",
                           [&] { n + stranger; });
  expect_error<ShapeError>("dims 'n' and 'batch' belong to different graphs", [&] { n* stranger; });
  EXPECT_FALSE(n == stranger);
}

}  // namespace antichain::dim_test
