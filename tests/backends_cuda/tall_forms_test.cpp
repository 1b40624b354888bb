// Which products with a long axis are computed by kernels of our own, and how they are dealt to
// threads.
#include <gtest/gtest.h>

#include "antichain/backends/cuda/products/tall_kernels.h"
#include "antichain/ops/products/row_products.h"

namespace antichain::cuda::tall_forms_test {

// All sizes: threads cover the results, tiles are copied 16 bytes at a time, and blocks find the
// shared memory that they are launched with.
TEST(TallForms, Fit) {
  constexpr std::int64_t kMostShared = 113 * 1024;  // two blocks on a multiprocessor
  for (std::int64_t m = 1; m <= kMostNarrow; ++m) {
    for (std::int64_t n = 1; n <= kMostNarrow; ++n) {
      SCOPED_TRACE(testing::Message() << m << " by " << n);
      for (const std::int64_t count : {4096, 100'003, 16'000'000}) {
        for (const bool along : {false, true}) {
          const TallReductionForm sums =
              choose_tall_reduction(one_source(m), one_source(n), count, along, along);
          ASSERT_GE(sums.down * sums.own_rows, m);
          ASSERT_GE(sums.across * sums.own_columns, n);
          ASSERT_LT((sums.down - 1) * sums.own_rows, m);
          ASSERT_GE(sums.groups(), 1);
          ASSERT_EQ(sums.tile % sums.groups(), 0);
          ASSERT_EQ(sums.tile % 4, 0);
          ASSERT_LE(sums.shared_floats() * 4, kMostShared);
        }
        const TallProductForm product = choose_tall_product(count, m, n, {});
        ASSERT_GE(product.quads() * 4, n);
        ASSERT_GE(product.down, 1);
        ASSERT_LE(product.down * product.across, TallProductForm::kThreads);
        ASSERT_LE(product.shared_floats() * 4, kMostShared);
      }
    }
  }
}

// Several matrices, as far as the op goes that they belong to.
TEST(TallForms, FitSeveralMatrices) {
  constexpr std::int64_t kMostShared = 113 * 1024;
  for (int m = 1; m <= 48; ++m) {
    for (int n = 1; n <= 31; ++n) {
      SCOPED_TRACE(testing::Message() << m << " and " << n);
      ASSERT_TRUE(fits_row_products({{m, m}, {n, n}, true}));
      for (const std::int64_t count : {1, 4096, 160'000}) {
        const TallReductionForm sums =
            choose_tall_reduction({{m, m}}, {{n, n}, true}, count, false, false);
        ASSERT_GE(sums.down * sums.own_rows, 2 * m);
        ASSERT_GE(sums.across * sums.own_columns, 2 * n + 1);
        ASSERT_GE(sums.groups(), 1);
        ASSERT_EQ(sums.tile % sums.groups(), 0);
        ASSERT_EQ(sums.tile % 4, 0);
        ASSERT_EQ(sums.a().pitch() % 4, 0);
        ASSERT_LE(sums.shared_floats() * 4, kMostShared);
      }
    }
  }
  EXPECT_FALSE(fits_row_products({{97}, {1}, false}));
  EXPECT_FALSE(fits_row_products({{1}, {64}, true}));
  EXPECT_FALSE(fits_row_products({{1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, false}));
  EXPECT_FALSE(fits_row_products({{1, 0}, {1}, false}));
}

// Which products are ours: by sizes and types alone.
TEST(TallForms, OthersAreTheLibrarys) {
  const BlasSizes sums{
      .dtype = DType::f32, .rows = 20, .columns = 20, .inner = 4096, .transpose_a = true};
  const BlasSizes product{.dtype = DType::f32, .rows = 4096, .columns = 20, .inner = 20};
  EXPECT_TRUE(TallReduction::fits(sums));
  EXPECT_FALSE(TallProduct::fits(sums));
  EXPECT_TRUE(TallProduct::fits(product));
  EXPECT_FALSE(TallReduction::fits(product));
  const auto with = [](BlasSizes sizes, auto change) {
    change(sizes);
    return sizes;
  };
  EXPECT_FALSE(TallReduction::fits(with(sums, [](auto& s) { s.inner = 4095; })));
  EXPECT_FALSE(TallReduction::fits(with(sums, [](auto& s) { s.rows = 65; })));
  EXPECT_FALSE(TallReduction::fits(with(sums, [](auto& s) { s.dtype = DType::f64; })));
  EXPECT_FALSE(TallReduction::fits(with(sums, [](auto& s) { s.count = 2; })));
  EXPECT_FALSE(TallReduction::fits(with(sums, [](auto& s) { s.relu = true; })));
  EXPECT_FALSE(TallProduct::fits(with(product, [](auto& s) { s.columns = 65; })));
  EXPECT_FALSE(TallProduct::fits(with(product, [](auto& s) { s.transpose_a = true; })));
}

}  // namespace antichain::cuda::tall_forms_test
