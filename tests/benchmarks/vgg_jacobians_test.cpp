// The Jacobians that a scan over VGG-11 is counted by.
#include "benchmarks/vgg_jacobians.h"

#include <gmock/gmock.h>

#include "antichain/engines/scan/sweep.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain::bench::vgg_jacobians_test {

// Wang, Bai and Pekhimenko (2020), table 1.
TEST(VggJacobians, SparsityOfTheFirstOps) {
  const std::vector<StagePattern> stages = first_of_vgg11(3);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].name, "conv");
  EXPECT_NEAR(stages[0].pattern.sparsity(), 0.99157, 5e-6);
  EXPECT_NEAR(stages[1].pattern.sparsity(), 0.99998, 5e-6);
  EXPECT_NEAR(stages[2].pattern.sparsity(), 0.99994, 5e-6);
}

TEST(VggJacobians, OpsFollowEachOther) {
  const std::vector<StagePattern> stages = vgg11_patterns(0.03);
  ASSERT_EQ(stages.size(), 22u);  // eight convolutions with relu, five times pooling, one linear
  for (std::size_t i = 1; i < stages.size(); ++i) {
    EXPECT_EQ(stages[i].pattern.rows(), stages[i - 1].pattern.num_columns) << i;
  }
  EXPECT_EQ(stages.front().pattern.rows(), 3 * 32 * 32);
  EXPECT_EQ(stages.back().pattern.rows(), 512);
  EXPECT_EQ(stages.back().pattern.num_columns, 10);
}

TEST(VggJacobians, PruningKeepsItsShare) {
  const std::vector<StagePattern> all = first_of_vgg11(1), some = vgg11_patterns(0.03),
                                  again = vgg11_patterns(0.03), other = vgg11_patterns(0.03, 1);
  const auto stored = [](const std::vector<StagePattern>& stages, std::size_t n) {
    return static_cast<double>(stages[n].pattern.stored());
  };
  EXPECT_NEAR(stored(some, 0) / stored(all, 0), 0.03, 0.002);
  EXPECT_EQ(stored(some, 21), 154);  // of 5120 weights, rounded up
  EXPECT_EQ(some[0].pattern, again[0].pattern);
  EXPECT_NE(some[0].pattern, other[0].pattern);
}

// Even a scan that multiplies matrices in pairs alone does more work than back-propagation, in
// fewer steps.
TEST(VggJacobians, OperationsOfAScan) {
  std::vector<scan::CsrPattern> jacobians;
  std::vector<StagePattern> stages = vgg11_patterns(0.03);
  for (std::size_t i = stages.size(); i-- > 1;) {
    jacobians.push_back(std::move(stages[i].pattern));
  }
  const scan::Sweep serial = scan::plan_sweep(21, kScanSerial),
                    pairs = scan::plan_sweep(21, kScanHybrid, 2);
  const scan::SweepCost one_by_one = scan::count_operations(serial, jacobians),
                        in_pairs = scan::count_operations(pairs, jacobians);
  EXPECT_LT(pairs.depth(), serial.depth());
  EXPECT_EQ(one_by_one.critical, one_by_one.total);
  EXPECT_LT(in_pairs.critical, in_pairs.total);
  EXPECT_GT(in_pairs.total, one_by_one.total);
}

}  // namespace antichain::bench::vgg_jacobians_test
