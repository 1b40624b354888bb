// Every order of multiplication gives what multiplying one by one gives.
#include "antichain/engines/scan/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "antichain/base/error.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain::scan::sweep_test {

// Numbers modulo a prime, so that products of any length are exact.
constexpr std::int64_t kPrime = 1'000'003;

struct Matrix {
  std::int64_t rows, columns;
  std::vector<std::int64_t> elements;
  bool operator==(const Matrix&) const = default;
};

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix product{a.rows, b.columns, {}};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) {
        sum = (sum + a.elements[static_cast<std::size_t>(i * a.columns + k)] *
                         b.elements[static_cast<std::size_t>(k * b.columns + j)]) %
              kPrime;
      }
      product.elements.push_back(sum);
    }
  }
  return product;
}

// The gradient and Jacobians of unequal sizes, from the last stage to the first.
std::vector<Matrix> operands_of(int stages) {
  const auto size = [](int n) { return 1 + (n * 5) % 4; };
  std::vector<Matrix> operands;
  for (int n = 0; n <= stages; ++n) {
    Matrix matrix{size(n), n == 0 ? 1 : size(n - 1), {}};
    for (std::int64_t i = 0; i < matrix.rows * matrix.columns; ++i) {
      matrix.elements.push_back((n * 7919 + i * 104'729 + 1) % kPrime);
    }
    operands.push_back(matrix);
  }
  return operands;
}

void expect_right(const Sweep& sweep, int stages) {
  std::vector<Matrix> operands = operands_of(stages);
  std::vector<Matrix> want = {operands[0]};
  for (int n = 1; n <= stages; ++n) {
    want.push_back(multiply(operands[static_cast<std::size_t>(n)], want.back()));
  }
  for (const SweepStep& step : sweep.steps) {
    const Matrix &left = operands[static_cast<std::size_t>(step.left)],
                 &right = operands[static_cast<std::size_t>(step.right)];
    ASSERT_EQ(left.columns, right.rows);
    operands.push_back(multiply(left, right));
    if (!step.to_vector) {
      EXPECT_NE(step.right, 0);
    } else {
      EXPECT_EQ(operands.back().columns, 1);
    }
  }
  ASSERT_EQ(sweep.gradients.size(), static_cast<std::size_t>(stages));
  for (int n = 1; n <= stages; ++n) {
    const int found = sweep.gradients[static_cast<std::size_t>(n) - 1];
    EXPECT_EQ(operands[static_cast<std::size_t>(found)], want[static_cast<std::size_t>(n)])
        << "gradient " << n << " of " << stages;
  }
}

TEST(Sweep, AllAlgorithmsAreRight) {
  for (int stages = 1; stages <= 37; ++stages) {
    expect_right(plan_sweep(stages, ""), stages);
    expect_right(plan_sweep(stages, kScanSerial), stages);
    expect_right(plan_sweep(stages, kScanBlelloch), stages);
    for (const std::int64_t chunk : {0, 1, 2, 3, 4, 7, 8, 64}) {
      expect_right(plan_sweep(stages, kScanChunked, chunk), stages);
      if ((chunk & (chunk - 1)) == 0) {
        expect_right(plan_sweep(stages, kScanHybrid, chunk), stages);
      }
    }
  }
}

int products_in(const Sweep& sweep) {
  return static_cast<int>(
      std::ranges::count_if(sweep.steps, [](const SweepStep& step) { return !step.to_vector; }));
}

TEST(Sweep, DepthIsLogarithmic) {
  const Sweep serial = plan_sweep(62, kScanSerial), tree = plan_sweep(62, kScanBlelloch);
  EXPECT_EQ(serial.depth(), 62);
  EXPECT_EQ(products_in(serial), 0);
  EXPECT_LE(tree.depth(), 2 * 6);
  EXPECT_GT(products_in(tree), 0);
  const Sweep hybrid = plan_sweep(62, kScanHybrid, 4);
  EXPECT_LT(hybrid.depth(), serial.depth());
  EXPECT_LT(products_in(hybrid), products_in(tree) + 1);
  EXPECT_EQ(plan_sweep(62, kScanHybrid, 1).steps.size(), serial.steps.size());
}

TEST(Sweep, OperationsAreCountedByPatterns) {
  // Diagonal, then 4 x 2 full, then diagonal, from the last stage to the first.
  const std::vector<CsrPattern> jacobians = {identity_pattern(2), full_pattern(4, 2),
                                             identity_pattern(4)};
  const SweepCost serial = count_operations(plan_sweep(3, kScanSerial), jacobians);
  EXPECT_EQ(serial.steps, (std::vector<std::int64_t>{4, 16, 8}));
  EXPECT_EQ(serial.total, 28);
  EXPECT_EQ(serial.critical, 28);
  EXPECT_EQ(serial.largest, 16);
  EXPECT_EQ(serial.stored, 0);
  // Up: the gradient through the first, and the product of the other two, 4 x 2 full; down: the
  // gradients behind the second and, by the product, behind the third.
  const SweepCost tree = count_operations(plan_sweep(3, kScanBlelloch), jacobians);
  EXPECT_EQ(tree.stored, 8);
  EXPECT_EQ(tree.total, 4 + 16 + 16 + 16);
  EXPECT_EQ(tree.critical, 16 + 16);
}

TEST(Sweep, WrongAlgorithms) {
  EXPECT_THROW(plan_sweep(3, "fast"), InvalidArgument);
  EXPECT_THROW(plan_sweep(3, kScanHybrid, 3), InvalidArgument);
}

}  // namespace antichain::scan::sweep_test
