#include "benchmarks/gpu/step_work.h"

#include <gtest/gtest.h>

namespace antichain::bench::step_work_test {

constexpr double kFloat = 4;      // bytes
constexpr double kNumbers = 256;  // bytes at most of rates, counts and other single numbers

TEST(StepWork, CountsProductsStatesAndFeeds) {
  const StepCase step_case{.name = "mlp", .batch = 4, .model = [](std::int64_t batch) {
                             return mlp(batch, {8, 10}, momentum);
                           }};
  const StepWork work = work_of(step_case.make({}));
  // Forward, gradients of both weights, and of what lies between the layers.
  const double first = 2.0 * 4 * 784 * 8, second = 2.0 * 4 * 8 * 10;
  ASSERT_EQ(work.flops.size(), 1U);
  EXPECT_EQ(work.flops.at("f32"), 2 * first + 3 * second);

  const double parameters = kFloat * (784 * 8 + 8 + 8 * 10 + 10), feeds = kFloat * 4 * 784 + 8 * 4;
  EXPECT_GE(work.state_bytes, 2 * parameters);  // with their momentum
  EXPECT_LE(work.state_bytes, 2 * parameters + kNumbers);
  EXPECT_GE(work.bytes, 4 * parameters + feeds);  // read and written
  EXPECT_LE(work.bytes, 4 * parameters + feeds + kNumbers);
}

TEST(StepWork, CountsEveryStepOfAChain) {
  const StepCase step_case{
      .name = "ode", .batch = 2, .model = [](std::int64_t batch) { return ode_net(batch, 4, 16); }};
  const StepWork work = work_of(step_case.make({}));
  // Forward, both gradients, and the product that the way back computes again.
  const double product = 16 * 2.0 * 2 * 4 * 4;
  EXPECT_GE(work.flops.at("f32"), 3 * product);
  EXPECT_LE(work.flops.at("f32"), 4 * product);
  // Parameters are read, gradients are written.
  const double parameters = kFloat * 16 * (4 * 4 + 4), feeds = kFloat * 2 * 4;
  EXPECT_GE(work.bytes, 2 * parameters + feeds);
  EXPECT_LE(work.bytes, 2 * parameters + feeds + kNumbers);
}

TEST(StepWork, KnowsTheTypeOfTheFactors) {
  const StepCase step_case{.name = "mlp",
                           .batch = 4,
                           .model =
                               [](std::int64_t batch) {
                                 return mlp(batch, {8, 10}, sgd);
                               },
                           .precision = bf16};
  EXPECT_GT(work_of(step_case.make({})).flops.at("bf16"), 0);
}

}  // namespace antichain::bench::step_work_test
