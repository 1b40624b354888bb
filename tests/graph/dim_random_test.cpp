// Random expressions, evaluated symbolically and as plain integers.
#include <gtest/gtest.h>

#include <random>

#include "antichain/base/error.h"
#include "antichain/graph/dim.h"

namespace antichain::dim_random_test {

// An expression as a tree; the oracle evaluates it with plain integers.
struct Tree {
  char kind;  // c(onstant), s(ymbol), + - * / % < (minimum) > (maximum)
  std::int64_t leaf = 0;
  std::vector<Tree> sides = {};
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  while (quotient * b > a && b > 0)
    --quotient;
  while (quotient * b < a && b < 0)
    --quotient;
  return quotient;
}

std::int64_t plain(const Tree& tree, const std::vector<std::int64_t>& symbols) {
  if (tree.kind == 'c') return tree.leaf;
  if (tree.kind == 's') return symbols[static_cast<std::size_t>(tree.leaf)];
  const std::int64_t a = plain(tree.sides[0], symbols), b = plain(tree.sides[1], symbols);
  switch (tree.kind) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return floor_divide(a, b);
    case '%': return a - floor_divide(a, b) * b;
    case '<': return std::min(a, b);
    default: return std::max(a, b);
  }
}

Dim symbolic(const Tree& tree, const Dims& symbols) {
  if (tree.kind == 'c') return tree.leaf;
  if (tree.kind == 's') return symbols[static_cast<std::size_t>(tree.leaf)];
  const Dim a = symbolic(tree.sides[0], symbols), b = symbolic(tree.sides[1], symbols);
  switch (tree.kind) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case '%': return a % b;
    case '<': return min(a, b);
    default: return max(a, b);
  }
}

class RandomDims : public testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }

  // Divisors are positive constants or symbols, which are never 0 here.
  Tree tree(int depth, const std::string& kinds) {
    if (depth == 0) {
      return pick(0, 1) ? Tree{'c', pick(-4, 4)} : Tree{'s', pick(0, 2)};
    }
    const char kind = kinds[static_cast<std::size_t>(pick(0, std::ssize(kinds) - 1))];
    const bool divides = kind == '/' || kind == '%';
    const Tree divisor = pick(0, 1) ? Tree{'c', pick(1, 5)} : Tree{'s', pick(0, 2)};
    return {kind, 0, {tree(depth - 1, kinds), divides ? divisor : tree(depth - 1, kinds)}};
  }

  std::mt19937_64 random{7};
  DimPool pool;
  Dims symbols = {pool.symbol("a", {1, 9}), pool.symbol("b", {1, 9}), pool.symbol("c", {1, 9})};
};

TEST_F(RandomDims, EvaluateAsPlainIntegersDo) {
  for (int round = 0; round < 2000; ++round) {
    const Tree expression = tree(static_cast<int>(pick(1, 4)), "+-*/%<>");
    const Dim dim = symbolic(expression, symbols);
    for (int sample = 0; sample < 5; ++sample) {
      const std::vector<std::int64_t> values = {pick(1, 9), pick(1, 9), pick(1, 9)};
      DimEnv env;
      for (std::size_t i = 0; i < 3; ++i) {
        env.bind(symbols[i].symbol(), values[i]);
      }
      const std::int64_t expected = plain(expression, values);
      ASSERT_EQ(dim.evaluate(env), expected) << dim.str();
      ASSERT_LE(dim.range().min, expected) << dim.str();
      ASSERT_GE(dim.range().max, expected) << dim.str();
      const std::unordered_map<std::uint32_t, Dim> by = {{symbols[0].symbol(), values[0]},
                                                         {symbols[1].symbol(), values[1]},
                                                         {symbols[2].symbol(), values[2]}};
      ASSERT_EQ(dim.substitute(by), Dim(expected)) << dim.str();
    }
  }
}

TEST_F(RandomDims, PolynomialsThatAreEqualEverywhereAreTheSame) {
  // (x + y) * z and x * z + y * z, and x - (y - z) and x - y + z, for random parts.
  for (int round = 0; round < 500; ++round) {
    const Dim x = symbolic(tree(2, "+-*"), symbols), y = symbolic(tree(2, "+-*"), symbols),
              z = symbolic(tree(2, "+-*"), symbols);
    ASSERT_EQ((x + y) * z, x * z + y * z);
    ASSERT_EQ(x - (y - z), x - y + z);
    ASSERT_EQ(x * (y * z), z * y * x);
  }
}

TEST_F(RandomDims, SizesThatAreNeverEqualNeverAre) {
  for (int round = 0; round < 500; ++round) {
    const Tree left = tree(2, "+-*/%<>"), right = tree(2, "+-*/%<>");
    const bool never = never_equal(symbolic(left, symbols), symbolic(right, symbols));
    for (int sample = 0; sample < 20 && never; ++sample) {
      const std::vector<std::int64_t> values = {pick(1, 9), pick(1, 9), pick(1, 9)};
      ASSERT_NE(plain(left, values), plain(right, values));
    }
  }
}

}  // namespace antichain::dim_random_test
