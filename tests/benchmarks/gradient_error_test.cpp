#include "benchmarks/gpu/gradient_error.h"

#include <gtest/gtest.h>

namespace antichain::bench::gradient_error_test {

GpuCase mlp_case(DType precision) {
  return {.step = {.name = "mlp",
                   .batch = 32,
                   .model =
                       [](std::int64_t batch) {
                         return mlp(batch, {16, 10}, sgd);
                       },
                   .precision = precision},
          .gradient_batch = 8};
}

TEST(GradientError, IsWhatThePrecisionAllows) {
  const GradientError wide = gradient_error(mlp_case(f32), {}, "cpu");
  EXPECT_GT(wide.largest, 0);
  EXPECT_LT(wide.largest, 1e-5);
  EXPECT_EQ(wide.batch, 8);
  EXPECT_EQ(wide.oracle, "cpu");
  EXPECT_FALSE(wide.parameter.empty());
  const GradientError narrow = gradient_error(mlp_case(bf16), {}, "cpu");
  EXPECT_GT(narrow.largest, 1e-4);
  EXPECT_LT(narrow.largest, 0.2);
  EXPECT_LT(gradient_error(mlp_case(f64), {}, "cpu").largest, 1e-13);
}

TEST(GradientError, LeavesOutGradientsThatVanish) {
  const GpuCase block{.step = {.name = "block", .batch = 2, .model = [](std::int64_t batch) {
                                 return transformer(batch, 5, 16, 2, adam);
                               }}};
  const GradientError error = gradient_error(block, {}, "cpu");
  EXPECT_LT(error.largest, 1e-4);
  EXPECT_EQ(error.batch, 2);
}

TEST(GradientError, RefusesWhatIsNotFinite) {
  const auto model = [](std::int64_t) -> StepModel {
    return {[](Graph& graph, DType precision) {
              const Var w = parameter("w", zeros(graph, precision, {2}));
              return sum(sqrt(w));
            },
            sgd,
            {}};
  };
  const GpuCase broken{.step = {.name = "broken", .batch = 1, .model = model}};
  EXPECT_THROW(gradient_error(broken, {}, "cpu"), DataError);
}

}  // namespace antichain::bench::gradient_error_test
