// Matrix products of the CPU backend against the reference, on shapes that libraries stumble over.
#include "antichain/ops/products/matmul.h"

#include <gtest/gtest.h>

#include <array>

#include "antichain/backends/cpu/products/matmul_plan.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"
#include "tests/conformance/compare.h"

namespace antichain::cpu::matmul_test {

constexpr std::array<DType, 5> kMultiplied = {f32, bf16, f16, f64, i8};
constexpr double kRoundings = 16;  // f32 sums of a few hundred products

struct Case {
  Shape a, b;
  MatmulOptions options;

  KernelTrial::BuildOne build() const {
    return [this](std::span<const Var> in) { return matmul(in[0], in[1], options); };
  }
  std::string str() const {
    return to_string(a) + (options.transpose_a ? "^T " : " ") + to_string(b) +
           (options.transpose_b ? "^T" : "");
  }
};

Case draw_case(Draw& draw) {
  constexpr std::array<std::int64_t, 15> kSizes = {0,  1,  1,  2,  3,  5,  7,  13,
                                                   16, 17, 31, 33, 64, 67, 129};
  const std::int64_t rows = draw.one_of(kSizes), columns = draw.one_of(kSizes);
  const std::int64_t inner = draw.one_of(kSizes);
  const MatmulOptions options = {draw.coin(), draw.coin()};
  Case drawn{options.transpose_a ? Shape{inner, rows} : Shape{rows, inner},
             options.transpose_b ? Shape{columns, inner} : Shape{inner, columns}, options};
  for (std::int64_t axes = draw.between(0, 2); axes > 0; --axes) {
    const std::int64_t size = draw.between(0, 12) == 0 ? 0 : draw.between(1, 3);
    const std::int64_t kind = draw.between(0, 3);  // both, the left, the right, the left alone
    drawn.a.insert(drawn.a.begin(), kind == 2 ? 1 : size);
    if (kind != 3 || axes > 1) {  // only the first axis may be missing
      drawn.b.insert(drawn.b.begin(), kind == 1 || kind == 3 ? 1 : size);
    }
  }
  return drawn;
}

TEST(Matmul, RandomShapesAgreeWithTheReference) {
  Draw draw(1);
  for (int n = 0; n < 300; ++n) {
    const Case drawn = draw_case(draw);
    for (DType dtype : kMultiplied) {
      const KernelTrial trial({draw.tensor(dtype, drawn.a), draw.tensor(dtype, drawn.b)},
                              drawn.build());
      trial.expect_kernels_agree(kRoundings * conformance::epsilon_of(dtype),
                                 std::string(name(dtype)) + " " + drawn.str());
    }
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Matmul, ViewsAgreeWithTheReference) {
  Draw draw(2);
  for (int n = 0; n < 300; ++n) {
    const Case drawn = draw_case(draw);
    const DType dtype = kMultiplied[static_cast<std::size_t>(n) % kMultiplied.size()];
    const KernelTrial trial({draw.view(dtype, drawn.a), draw.view(dtype, drawn.b)}, drawn.build());
    trial.expect_kernels_agree(kRoundings * conformance::epsilon_of(dtype),
                               "views, " + std::string(name(dtype)) + " " + drawn.str());
    if (HasFailure()) {
      return;
    }
  }
}

// Shapes on which OpenBLAS or oneDNN, left to themselves, give other bits on more threads.
TEST(Matmul, SameBitsOnAnyNumberOfThreads) {
  const std::vector<Case> cases = {{{128, 784}, {784, 512}, {}},
                                   {{128, 512}, {512, 512}, {false, true}},
                                   {{128, 784}, {128, 512}, {true, false}},
                                   {{128, 512}, {512, 10}, {}},
                                   {{708, 133}, {708, 16}, {true, false}},
                                   {{2, 3, 65, 70}, {3, 70, 91}, {}},
                                   {{4, 129, 67}, {67, 131}, {}},
                                   {{1, 5000}, {5000, 1}, {}},
                                   {{1, 700}, {700, 900}, {}}};
  Draw draw(3);
  for (const Case& use : cases) {
    for (DType dtype : kMultiplied) {
      const KernelTrial trial({draw.tensor(dtype, use.a), draw.tensor(dtype, use.b)}, use.build());
      trial.expect_same_bits_on_any_threads(std::string(name(dtype)) + " " + use.str());
    }
  }
}

TEST(Matmul, BytesAreSummedExactly) {
  const Case use{{3, 5000}, {5000, 40}, {}};
  const KernelTrial trial({Tensor::full(i8, use.a, -128), Tensor::full(i8, use.b, 127)},
                          use.build());
  EXPECT_EQ(trial.run_reference()[0].to_vector<std::int32_t>()[7], 5000 * 127 * -128);
  trial.expect_kernels_agree(0, "i8 at its limits");
}

TEST(Matmul, GridsGrowWithTheProduct) {
  const auto blocks = [](std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    const Grid grid = choose_grid(rows, columns, inner, 1);
    return grid.rows * grid.columns;
  };
  EXPECT_EQ(blocks(64, 64, 64), 1);
  EXPECT_EQ(blocks(1, 64, 1 << 20), 1) << "too thin to cut";
  EXPECT_EQ(blocks(128, 10, 512), 2);
  EXPECT_EQ(blocks(128, 512, 784), 4);
  EXPECT_GE(blocks(1024, 1024, 1024), 16);
  EXPECT_EQ(choose_grid(64, 1536, 512, 1).rows, 1) << "columns are cheaper to cut here";
  EXPECT_EQ(choose_grid(1 << 20, 16, 64, 1).columns, 1) << "only rows can be cut here";
  EXPECT_EQ(choose_grid(128, 128, 128, 1000).rows, 1) << "a batch is cut into its products";
}

}  // namespace antichain::cpu::matmul_test
