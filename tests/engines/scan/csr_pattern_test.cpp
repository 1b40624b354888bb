// Patterns of sparse matrices against dense ones.
#include "antichain/engines/scan/csr_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "antichain/base/error.h"

namespace antichain::scan::csr_pattern_test {

using Dense = std::vector<std::vector<int>>;  // 1 where an element is stored

CsrPattern random_pattern(std::int64_t rows, std::int64_t columns, double share,
                          std::mt19937& generator) {
  std::bernoulli_distribution stored(share);
  CsrPattern pattern{.num_columns = columns};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      if (stored(generator)) {
        pattern.columns.push_back(static_cast<std::int32_t>(column));
      }
    }
    pattern.end_row();
  }
  return pattern;
}

Dense dense(const CsrPattern& pattern) {
  Dense result(static_cast<std::size_t>(pattern.rows()),
               std::vector<int>(static_cast<std::size_t>(pattern.num_columns)));
  for (std::int64_t row = 0; row < pattern.rows(); ++row) {
    for (const std::int32_t column : pattern.row(row)) {
      ++result[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
    }
  }
  return result;
}

TEST(CsrPattern, ProductsAreThoseOfDenseMatrices) {
  std::mt19937 generator(1);
  for (const double share : {0.02, 0.3, 1.0}) {
    const CsrPattern a = random_pattern(17, 23, share, generator),
                     b = random_pattern(23, 61, share, generator);
    const Dense left = dense(a), right = dense(b), product = dense(product_pattern(a, b));
    std::int64_t multiplications = 0;
    for (std::size_t i = 0; i < 17; ++i) {
      for (std::size_t j = 0; j < 61; ++j) {
        int terms = 0;
        for (std::size_t k = 0; k < 23; ++k) {
          terms += left[i][k] * right[k][j];
        }
        EXPECT_EQ(product[i][j], terms > 0 ? 1 : 0) << i << ' ' << j;
        multiplications += terms;
      }
    }
    EXPECT_EQ(count_multiplications(a, b), multiplications);
  }
}

TEST(CsrPattern, ColumnsOfAProductAscend) {
  std::mt19937 generator(2);
  const CsrPattern product = product_pattern(random_pattern(5, 40, 0.1, generator),
                                             random_pattern(40, 1000, 0.01, generator));
  for (std::int64_t row = 0; row < product.rows(); ++row) {
    EXPECT_TRUE(std::ranges::is_sorted(product.row(row)));
  }
}

TEST(CsrPattern, SumsSayWhereElementsComeFrom) {
  std::mt19937 generator(3);
  const CsrPattern a = random_pattern(9, 11, 0.3, generator),
                   b = random_pattern(9, 11, 0.4, generator);
  const PatternSum sum = sum_pattern(a, b);
  const Dense left = dense(a), right = dense(b), both = dense(sum.pattern);
  const std::vector<std::int32_t> rows = rows_of_elements(sum.pattern);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 11; ++j) {
      EXPECT_EQ(both[i][j], left[i][j] | right[i][j]);
    }
  }
  const auto expect_source = [&](const CsrPattern& part, const std::vector<std::int32_t>& of) {
    const std::vector<std::int32_t> part_rows = rows_of_elements(part);
    std::int64_t found = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] != part.stored()) {
        ++found;
        EXPECT_EQ(part.columns[static_cast<std::size_t>(of[i])], sum.pattern.columns[i]);
        EXPECT_EQ(part_rows[static_cast<std::size_t>(of[i])], rows[i]);
      }
    }
    EXPECT_EQ(found, part.stored());
  };
  expect_source(a, sum.of_a);
  expect_source(b, sum.of_b);
}

TEST(CsrPattern, ProductsHaveALimit) {
  EXPECT_EQ(product_pattern(full_pattern(3, 2), full_pattern(2, 4), 12).stored(), 12);
  EXPECT_THROW(product_pattern(full_pattern(3, 2), full_pattern(2, 4), 11), NotSupported);
}

TEST(CsrPattern, EmptyAndSmall) {
  EXPECT_EQ(identity_pattern(0).stored(), 0);
  EXPECT_EQ(identity_pattern(0).sparsity(), 0);
  EXPECT_EQ(product_pattern(identity_pattern(4), identity_pattern(4)), identity_pattern(4));
  EXPECT_EQ(full_pattern(2, 3).stored(), 6);
  EXPECT_EQ(full_pattern(2, 3).sparsity(), 0);
  EXPECT_DOUBLE_EQ(identity_pattern(4).sparsity(), 0.75);
  EXPECT_EQ(product_pattern(full_pattern(3, 0), full_pattern(0, 2)).stored(), 0);
}

}  // namespace antichain::scan::csr_pattern_test
