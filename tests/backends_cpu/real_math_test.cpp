// The accuracy of the float functions of every level, against libm in double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "antichain/backends/cpu/simd/loops.h"

namespace antichain::cpu::real_math_test {

// Floats of every exponent and sign, about `per_exponent` each, and the special ones.
std::vector<float> floats(int per_exponent) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1.0F,
                               -1.0F,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::lowest()};
  const std::uint32_t step = (1U << 23) / static_cast<std::uint32_t>(per_exponent) - 1;
  for (std::uint64_t word = 0; word < 0xFFFFFFFFULL; word += step) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  }
  return values;
}

// The distance in units of the last place of `want`, rounded to float; 0 also when both are NaN or
// the same infinity.
double ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) {
    return 0;
  }
  if (!std::isfinite(got) || !std::isfinite(rounded)) {
    // The largest float and infinity are neighbours.
    const float next = std::nextafter(got, rounded);
    return next == rounded ? 1 : std::numeric_limits<double>::infinity();
  }
  const float size = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
  const double unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return std::fabs(got - want) / unit;
}

using Function = double (*)(double);

struct UnaryCase {
  const char* op;
  Function exact;
  double max_ulps;
};

void check(const UnaryCase& unary, const LoopTable& table, const std::vector<float>& x,
           std::string_view level) {
  std::vector<float> y(x.size());
  const void* const in[] = {x.data()};
  table.find(unary.op)->loops[static_cast<int>(f32)](in, y.data(),
                                                     static_cast<std::int64_t>(x.size()));
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], unary.exact(x[i]));
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
  }
  EXPECT_LE(worst, unary.max_ulps) << level << " " << unary.op << " at " << at;
  testing::Test::RecordProperty(std::string(level) + "_" + unary.op + "_ulps",
                                std::to_string(worst));
}

TEST(RealMath, FunctionsAreAccurateOverTheWholeRange) {
  const UnaryCase cases[] = {
      {"exp", std::exp, 2},     {"expm1", std::expm1, 3}, {"log", std::log, 2},
      {"log1p", std::log1p, 3}, {"sin", std::sin, 2},     {"cos", std::cos, 2},
      {"erf", std::erf, 2},     {"tanh", std::tanh, 4},   {"sqrt", std::sqrt, 0.5},
      {"floor", std::floor, 0}, {"ceil", std::ceil, 0},   {"round", std::nearbyint, 0},
  };
  const std::vector<float> x = floats(2048);
  for_each_simd_level([&](auto level) {
    if (cpu_supports(level).yes) {
      for (const UnaryCase& unary : cases) {
        check(unary, unary_loops<level>(), x, name(level));
      }
    }
  });
}

TEST(RealMath, PowIsAccurateAndKnowsTheSpecialCases) {
  const std::vector<float> some = floats(2);
  const float common[] = {0.5F, 2, 3, -1, -2, 1.5F, 0.1F, 7, -7.25F, 1e-3F, 100, -33, 16777215};
  std::vector<float> a, b, y;
  for (std::size_t i = 0; i < some.size(); ++i) {
    for (float exponent : common) {
      a.insert(a.end(), {some[i], exponent});
      b.insert(b.end(), {exponent, some[i]});
    }
    for (std::size_t k = 0; k < some.size(); k += 7) {
      a.push_back(some[i]);
      b.push_back(some[k]);
    }
    for (std::size_t k = 0; k < 10; ++k) {  // all special ones
      a.push_back(some[i]);
      b.push_back(some[k]);
    }
  }
  y.resize(a.size());
  const void* const in[] = {a.data(), b.data()};
  for_each_simd_level([&](auto level) {
    if (!cpu_supports(level).yes) {
      return;
    }
    binary_loops<level>().find("pow")->loops[static_cast<int>(f32)](
        in, y.data(), static_cast<std::int64_t>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double want = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
      ASSERT_LE(ulps(y[i], want), 1) << name(level) << ": " << a[i] << " ** " << b[i] << " = "
                                     << y[i] << ", expected " << want;
    }
  });
}

// Functors made of several functions: relative to the largest term, as cancellation is theirs.
TEST(RealMath, ComposedFunctionsAreAccurate) {
  const std::pair<const char*, Function> cases[] = {
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }},
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }},
      {"smooth_relu",
       [](double x) { return x <= -0.1 ? 0 : (x < 0.1 ? 2.5 * (x + 0.1) * (x + 0.1) : x); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
  };
  std::vector<float> x, y;
  for (int i = -200000; i <= 200000; ++i) {
    x.push_back(static_cast<float>(i) * 5e-4F);
  }
  y.resize(x.size());
  const void* const in[] = {x.data()};
  for_each_simd_level([&](auto level) {
    if (!cpu_supports(level).yes) {
      return;
    }
    for (const auto& [op, exact] : cases) {
      unary_loops<level>().find(op)->loops[static_cast<int>(f32)](
          in, y.data(), static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double scale = std::fmax(std::fabs(x[i]), 0.25);
        ASSERT_NEAR(y[i], exact(x[i]), 4 * 0x1p-23 * scale)
            << name(level) << " " << op << " at " << x[i];
      }
    }
  });
}

// bfloat16 has so few values that all can be tried.
TEST(RealMath, EveryBfloat16IsRoundedFromTheFloatResult) {
  std::vector<bfloat16> x(1 << 16), y(1 << 16);
  std::vector<float> wide(1 << 16), want(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i].bits = static_cast<std::uint16_t>(i);
    wide[i] = static_cast<float>(x[i]);
  }
  const void *const in[] = {x.data()}, *const wide_in[] = {wide.data()};
  for_each_simd_level([&](auto level) {
    const LoopTable table = unary_loops<level>();
    for (int row = 0; cpu_supports(level).yes && row < table.num_rows; ++row) {
      const std::string_view op = table.rows[row].op;
      if (op == "logical_not" || op == "is_finite") {
        continue;
      }
      table.rows[row].loops[static_cast<int>(bf16)](in, y.data(), 1 << 16);
      table.rows[row].loops[static_cast<int>(f32)](wide_in, want.data(), 1 << 16);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bfloat16 rounded(want[i]);
        const bool both_nan = y[i] != y[i] && rounded != rounded;
        ASSERT_TRUE(both_nan || y[i].bits == rounded.bits)
            << name(level) << " " << op << " of " << wide[i] << ": " << static_cast<float>(y[i]);
      }
    }
  });
}

}  // namespace antichain::cpu::real_math_test
