// Pooling in the CPU backend against the reference.
#include "antichain/ops/convolution/pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"
#include "tests/conformance/compare.h"

namespace antichain::cpu::pooling_test {

struct Case {
  Shape x;
  PoolOptions options;
};

Case draw_case(Draw& draw) {
  Case drawn{{draw.between(0, 4), draw.between(1, 5)}, {}};
  for (std::int64_t axis = 0, axes = draw.between(1, 3); axis < axes; ++axis) {
    const std::int64_t window = draw.between(1, 4), padding = draw.between(0, window - 1);
    drawn.options.window.push_back(window);
    drawn.options.stride.push_back(draw.between(1, 4));
    drawn.options.padding.push_back(padding);
    drawn.x.push_back(std::max<std::int64_t>(window - 2 * padding, 1) + draw.between(0, 9));
  }
  if (draw.coin()) {
    drawn.options.channels_last = true;
    std::rotate(drawn.x.begin() + 1, drawn.x.begin() + 2, drawn.x.end());
  }
  return drawn;
}

KernelTrial largest(const Case& use, const Tensor& x) {
  return {{x}, [&](std::span<const Var> in) { return max_pool(in[0], use.options); }};
}

KernelTrial mean(const Case& use, const Tensor& x, bool count_padding) {
  return {{x},
          [&](std::span<const Var> in) { return avg_pool(in[0], use.options, count_padding); }};
}

TEST(Pooling, RandomShapesAgreeWithTheReference) {
  constexpr double kRoundings = 2;
  Draw draw(1);
  for (int n = 0; n < 200; ++n) {
    const Case drawn = draw_case(draw);
    const std::string what = to_string(drawn.x) + " window " + to_string(drawn.options.window);
    for (DType dtype : {f32, f64, bf16, f16, i8, i32}) {
      const Tensor x = draw.tensor(dtype, drawn.x);
      EXPECT_GE(largest(drawn, x).expect_kernels_agree(0, "max_pool " + what), 1);
      if (is_float(dtype)) {
        const double tolerance = kRoundings * conformance::epsilon_of(dtype);
        EXPECT_GE(mean(drawn, x, true).expect_kernels_agree(tolerance, "avg_pool " + what), 1);
        EXPECT_GE(mean(drawn, x, false).expect_kernels_agree(tolerance, "avg_pool " + what), 1);
      }
    }
  }
}

TEST(Pooling, TiesAndWhatIsNotANumberGoToTheFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Case use{{1, 1, 9}, {{3}, {3}, {0}}};
  const Tensor x =
      Tensor::of<float>(use.x, {2, 7, 7, 1, nan, nan, -infinity, -infinity, -infinity});
  const KernelTrial trial = largest(use, x);
  EXPECT_EQ(trial.run_reference()[1].to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 4, 6}));
  EXPECT_GE(trial.expect_kernels_agree(0, "ties"), 1);
  const Case last{{1, 9, 1}, {{3}, {3}, {0}, true}};
  EXPECT_GE(largest(last, x.reshape(last.x)).expect_kernels_agree(0, "channels last"), 1);
}

TEST(Pooling, SameBitsOnAnyNumberOfThreads) {
  Draw draw(2);
  for (const bool last : {false, true}) {
    const Case use{last ? Shape{6, 33, 31, 5} : Shape{6, 5, 33, 31},
                   {{3, 2}, {2, 2}, {1, 0}, last}};
    const Tensor x = draw.tensor(f32, use.x);
    largest(use, x).expect_same_bits_on_any_threads("max_pool");
    mean(use, x, false).expect_same_bits_on_any_threads("avg_pool");
  }
}

}  // namespace antichain::cpu::pooling_test
