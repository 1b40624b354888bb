// The texts of all kernels that are neither element-wise nor fused compile, without a GPU.
#include <gtest/gtest.h>

#include "antichain/backends/cuda/convolution/column_convolution.h"
#include "antichain/backends/cuda/convolution/pooling_kernels.h"
#include "antichain/backends/cuda/core/dynamic_kernels.h"
#include "antichain/backends/cuda/core/kernel_compiler.h"
#include "antichain/backends/cuda/core/stopwatch.h"
#include "antichain/backends/cuda/elementwise/cast_kernels.h"
#include "antichain/backends/cuda/elementwise/creation_kernels.h"
#include "antichain/backends/cuda/elementwise/finite_kernels.h"
#include "antichain/backends/cuda/elementwise/random_kernels.h"
#include "antichain/backends/cuda/elementwise/row_update_kernels.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/backends/cuda/indexing/along_kernels.h"
#include "antichain/backends/cuda/indexing/index_kernels.h"
#include "antichain/backends/cuda/indexing/running_sum.h"
#include "antichain/backends/cuda/indexing/scatter_kernels.h"
#include "antichain/backends/cuda/indexing/sort_kernels.h"
#include "antichain/backends/cuda/indexing/unique_kernels.h"
#include "antichain/backends/cuda/movement/movement_kernels.h"
#include "antichain/backends/cuda/movement/strided_copy.h"
#include "antichain/backends/cuda/products/attention_kernels.h"
#include "antichain/backends/cuda/products/csr_pattern.h"
#include "antichain/backends/cuda/products/integer_matmul.h"
#include "antichain/backends/cuda/products/sparse_kernels.h"
#include "antichain/backends/cuda/products/sparse_product.h"
#include "antichain/backends/cuda/products/tall_kernels.h"
#include "antichain/backends/cuda/rows/channel_kernels.h"
#include "antichain/backends/cuda/scans/affine_scan_text.h"
#include "antichain/backends/cuda/scans/weighted_scan_kernels.h"

namespace antichain::cuda::generated_code_test {

constexpr int kHopper = 90;

void expect_compiles(const std::string& text) {
  EXPECT_FALSE(compile_kernel(text, kHopper).empty()) << text;
}

TEST(GeneratedCode, Movement) {
  for (const std::int64_t bytes : {1, 2, 4, 8}) {
    expect_compiles(copy_text(bytes, 1, 1, false));
    expect_compiles(copy_text(bytes, 3, 8, true));
    expect_compiles(tiled_copy_text(bytes, 0));
    expect_compiles(tiled_copy_text(bytes, 2));
  }
  expect_compiles(dynamic_window_text(0, 4, i64, false));
  expect_compiles(dynamic_window_text(3, 1, i32, true));
}

TEST(GeneratedCode, Casts) {
  for (const DType from : kAnyDType.members()) {
    expect_compiles(casts_text(from, bf16, 1));
    expect_compiles(casts_text(f32, from, 4));
  }
}

TEST(GeneratedCode, Columns) {
  expect_compiles(columns_text(f32));
  expect_compiles(columns_text(f64));
}

TEST(GeneratedCode, WeightedScans) {
  const WeightedForm rnn{1, {0}, {}, {{0, 0}}},
      gru{1, {0, 0, 0}, {{0, 0}}, {{0, 0}, {1, 0}, {2, 0}}},
      lstm{2, {0, 0, 0, 0}, {{1, 1}, {0, 1}}, {{0, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 0}}};
  for (const std::int64_t units : {1, 7, 20, 128}) {
    expect_compiles(weighted_scan_text(rnn, units, units % 2 == 0));
  }
  expect_compiles(weighted_scan_text(gru, 64, true));
  expect_compiles(weighted_scan_text(lstm, 20, false));
}

TEST(GeneratedCode, TallReductions) {
  for (const std::int64_t rows : {1, 20, 33, 64}) {
    for (const std::int64_t columns : {1, 20, 60, 64}) {
      const bool along = rows == 33;
      const TallSources left = one_source(rows), right = one_source(columns);
      expect_compiles(
          tall_reduction_text(choose_tall_reduction(left, right, 100'003, along, false)));
      expect_compiles(
          tall_reduction_text(choose_tall_reduction(left, right, 16'000'000, !along, true)));
    }
  }
}

TEST(GeneratedCode, TallReductionsOfSeveralMatrices) {
  const auto expect_sums = [](const TallSources& left, const TallSources& right) {
    expect_compiles(tall_reduction_text(choose_tall_reduction(left, right, 160'000, false, false)));
  };
  expect_sums({{20}}, {{20, 1}, true});
  expect_sums({{20, 20, 20, 20}}, {{20, 1}, true});
  expect_sums({{3, 1, 7}}, {{}, true});
  expect_sums({{12, 12, 12, 12, 12, 12, 12, 12}}, {{8, 8, 8, 8, 8, 8, 8, 7}, true});
}

TEST(GeneratedCode, TallProducts) {
  for (const std::int64_t inner : {1, 20, 33, 64}) {
    for (const std::int64_t columns : {1, 20, 60, 64}) {
      const bool odd = inner == 33;
      expect_compiles(tall_product_text(choose_tall_product(100'003, inner, columns, {})));
      expect_compiles(
          tall_product_text(choose_tall_product(4096, inner, columns, {odd, true, !odd})));
    }
  }
}

TEST(GeneratedCode, AffineScans) {
  for (const DType dtype : {f32, f64}) {
    expect_compiles(column_scan_text(dtype));
    for (const bool transposed : {false, true}) {
      expect_compiles(wide_scan_text(dtype, transposed));
      for (const std::int64_t size : {1, 7, 20, 32}) {
        expect_compiles(narrow_scan_text(dtype, size, transposed));
      }
    }
  }
}

TEST(GeneratedCode, UpdatesOfRows) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const RowChoice choice : {RowChoice::all, RowChoice::ids, RowChoice::marks}) {
      expect_compiles(accumulate_rows_text(dtype, choice));
      expect_compiles(row_update_text("Adam", dtype, dtype, 3, choice));
    }
    expect_compiles(row_update_text("Descent", dtype, dtype, 1, RowChoice::ids));
    expect_compiles(row_update_text("RmspropMomentum", dtype, dtype, 3, RowChoice::ids));
    expect_compiles(row_squares_text(dtype, dtype, false));
    expect_compiles(row_squares_text(dtype, dtype, true));
  }
  for (const DType dtype : {bf16, f16}) {  // of a sum in f32
    expect_compiles(row_update_text("Adam", dtype, f32, 3, RowChoice::marks));
    expect_compiles(row_squares_text(f32, dtype, true));
  }
  expect_compiles(unique_text());
}

TEST(GeneratedCode, Creation) {
  expect_compiles(iota_text(bf16));
  expect_compiles(iota_text(u8));
  expect_compiles(numbers_text(3));
}

TEST(GeneratedCode, Lookups) {
  expect_compiles(lookup_text(Lookup::slices, f16, i64));
  expect_compiles(lookup_text(Lookup::elements, boolean, i32));
  expect_compiles(lookup_text(Lookup::marks, bf16, i64));
  expect_compiles(look_text(i32));
  expect_compiles(lookup_text(Lookup::checked_marks, boolean, i32));
}

TEST(GeneratedCode, Scatters) {
  for (const bool along : {false, true}) {
    expect_compiles(scatter_text(bf16, i64, along, true));
    expect_compiles(scatter_text(i8, i32, along, false));
    expect_compiles(grouping_text(i32, scatter_group(along)));
  }
}

TEST(GeneratedCode, AlongAnAxis) {
  for (const DType dtype : {f16, f64, i32}) {
    expect_compiles(choice_text(dtype, true));
    expect_compiles(choice_text(dtype, false));
    expect_compiles(running_sum_text(dtype));
  }
}

class SortCode : public testing::TestWithParam<DType> {};

TEST_P(SortCode, Compiles) { expect_compiles(sort_text(GetParam())); }

INSTANTIATE_TEST_SUITE_P(DTypes, SortCode, testing::ValuesIn(kNumbers.members()),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(GeneratedCode, RadixSort) { expect_compiles(radix_sort_text()); }

TEST(GeneratedCode, Sparse) {
  expect_compiles(grouping_text(i64, column_group()));
  expect_compiles(pattern_check_text(i32));
  expect_compiles(pattern_check_text(i64));
  expect_compiles(row_search_text(i32));
  expect_compiles(csr_matmul_text(f32, i32, false));
  expect_compiles(csr_matmul_text(bf16, i64, true));
  expect_compiles(csr_sampled_matmul_text(f16, i64));
  expect_compiles(csr_sampled_matmul_text(f64, i32));
  expect_compiles(csr_product_text(f32, i32, false, false));
  expect_compiles(csr_product_text(f64, i64, true, false));
  expect_compiles(csr_product_text(bf16, i32, false, true));
  expect_compiles(csr_product_text(f16, i64, true, true));
}

TEST(GeneratedCode, IntegerProducts) {
  const StridedLoop one({}, std::vector<Strides>(2));
  const StridedLoop broadcast({2, 3}, {Strides{20, 0}, Strides{0, 30}});
  expect_compiles(integer_matmul_text(i8, i32, false, true, one));
  expect_compiles(integer_matmul_text(i64, i64, true, false, broadcast));
}

TEST(GeneratedCode, Pooling) {
  expect_compiles(pool_text(f16, 2, true));
  expect_compiles(pool_text(i32, 3, false));
}

TEST(GeneratedCode, SumsOfChannels) {
  constexpr std::int64_t kMany = std::int64_t{1} << 32;
  for (const ChannelSum kind : {ChannelSum::moments, ChannelSum::gradient}) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      const ChannelSplit columns(5000, 64, 1, dtype), odd(7, 5, 1, dtype), rows(9, 6, 48, dtype);
      expect_compiles(channel_sum_text(kind, dtype, dtype, columns));
      expect_compiles(channel_sum_text(kind, dtype, dtype, odd));
      expect_compiles(channel_sum_text(kind, dtype, dtype, rows));
    }
    expect_compiles(channel_sum_text(kind, bf16, f32, ChannelSplit(kMany, 8, 1, bf16)));
    expect_compiles(channel_sum_text(kind, f16, f32, ChannelSplit(kMany, 8, 3, f16)));
  }
}

TEST(GeneratedCode, Delay) { expect_compiles(delay_text()); }

TEST(GeneratedCode, Attention) {
  for (std::int64_t width = 16; width <= 128; width += 16) {
    const bool odd = width % 32 != 0;
    expect_compiles(attention_text({bf16, width, odd, !odd}));
    expect_compiles(attention_gradient_text({f16, width, !odd, odd}));
  }
}

TEST(GeneratedCode, Random) {
  expect_compiles(draw_text(Draw::uniform, f64));
  expect_compiles(draw_text(Draw::normal, bf16));
  expect_compiles(draw_text(Draw::bernoulli, boolean));
  expect_compiles(draw_text(Draw::bits, i64));
  expect_compiles(fold_in_text());
}

TEST(GeneratedCode, SizesFromData) {
  expect_compiles(nonzero_text(boolean, 3));
  expect_compiles(nonzero_text(f16, 0));
}

TEST(GeneratedCode, Hashing) {
  for (const HashFamily family : {HashFamily::simhash, HashFamily::wta, HashFamily::dwta}) {
    for (const HashTransform transform :
         {HashTransform::none, HashTransform::norms, HashTransform::powers}) {
      expect_compiles(hash_codes_text(f32, family, transform));
    }
    expect_compiles(hash_codes_text(bf16, family, HashTransform::norms));
    expect_compiles(hash_codes_text(f64, family, HashTransform::norms));
  }
  expect_compiles(hash_tables_text());
  expect_compiles(active_units_text(i64, i64));
  expect_compiles(active_units_text(i32, i64));
  expect_compiles(largest_norm_text(f32));
  expect_compiles(largest_norm_text(f16));
}

TEST(GeneratedCode, FiniteChecks) {
  expect_compiles(finite_text(bf16, 8));
  expect_compiles(finite_text(f64, 0));
}

}  // namespace antichain::cuda::generated_code_test
