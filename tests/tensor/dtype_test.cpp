#include "antichain/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::dtype_test {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  bool is_float, is_integer;
};

constexpr Row kRows[] = {
    {f32, "f32", 4, true, false}, {f64, "f64", 8, true, false}, {bf16, "bf16", 2, true, false},
    {f16, "f16", 2, true, false}, {i8, "i8", 1, false, true},   {i32, "i32", 4, false, true},
    {i64, "i64", 8, false, true}, {u8, "u8", 1, false, true},   {boolean, "bool", 1, false, false},
};
static_assert(std::size(kRows) == kNumDTypes);

TEST(DType, PropertiesOfEach) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(name(row.dtype), row.name);
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    EXPECT_EQ(size_of(row.dtype), row.bytes);
    EXPECT_EQ(is_float(row.dtype), row.is_float);
    EXPECT_EQ(is_integer(row.dtype), row.is_integer);
    EXPECT_EQ(visit_dtype(row.dtype, []<class T>(T) { return dtype_of<T>(); }), row.dtype);
    EXPECT_EQ(kFloats.contains(row.dtype), row.is_float);
    EXPECT_EQ(kIntegers.contains(row.dtype), row.is_integer);
    EXPECT_EQ(kNumbers.contains(row.dtype), row.is_float || row.is_integer);
    EXPECT_TRUE(kAnyDType.contains(row.dtype));
  }
}

TEST(DType, RefusesUnknownNames) {
  expect_error<TypeError>(
      "unknown element type 'float'; use f32, f64, bf16, f16, i8, i32, i64, u8 or bool",
      [] { parse_dtype("float"); });
}

TEST(DTypeSet, ListsItsMembers) {
  EXPECT_TRUE(DTypeSet{}.members().empty());
  EXPECT_EQ((DTypeSet{u8, f64}.members()), (std::vector<DType>{f64, u8}));
  EXPECT_EQ((DTypeSet{i8} | DTypeSet{boolean}).members(), (std::vector<DType>{i8, boolean}));
  EXPECT_EQ(kAnyDType.members().size(), std::size(kRows));
}

// 1 is exact in every type, so it must survive the way through every other one.
TEST(Convert, OneStaysOneBetweenAllPairs) {
  for (const Row& from : kRows) {
    for (const Row& to : kRows) {
      const bool same = visit_dtype(from.dtype, [&]<class From>(From) {
        return visit_dtype(to.dtype, []<class To>(To) {
          return convert<From>(convert<To>(convert<From>(1))) == convert<From>(1);
        });
      });
      EXPECT_TRUE(same) << from.name << " to " << to.name;
    }
  }
}

TEST(Convert, BoolIsNotZero) {
  EXPECT_TRUE(convert<bool>(0.25F));
  EXPECT_TRUE(convert<bool>(std::int64_t{256}));
  EXPECT_TRUE(convert<bool>(bfloat16(-2.0F)));
  EXPECT_TRUE(convert<bool>(std::nan("")));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_FALSE(convert<bool>(float16(0.0F)));
}

TEST(Convert, IntegersWrap) {
  EXPECT_EQ(convert<std::int8_t>(200), -56);
  EXPECT_EQ(convert<std::uint8_t>(std::int8_t{-1}), 255);
  EXPECT_EQ(convert<std::int32_t>((std::int64_t{1} << 32) + 5), 5);
}

template <class To, class From>
void expect_saturation() {
  using Limits = std::numeric_limits<To>;
  const From infinity = std::numeric_limits<From>::infinity();
  EXPECT_EQ(convert<To>(infinity), Limits::max());
  EXPECT_EQ(convert<To>(-infinity), Limits::min());
  EXPECT_EQ(convert<To>(From(1e30)), Limits::max());
  EXPECT_EQ(convert<To>(From(-1e30)), Limits::min());
  // The power of two above the largest integer, and the float just below it.
  const From limit = std::ldexp(From(1), Limits::digits);
  EXPECT_EQ(convert<To>(limit), Limits::max());
  EXPECT_EQ(convert<To>(-limit), Limits::is_signed ? Limits::min() : To{0});
  const From below = std::nextafter(limit, From(0));
  EXPECT_LE(static_cast<long double>(convert<To>(below)), static_cast<long double>(below));
  EXPECT_GT(static_cast<long double>(convert<To>(below)), static_cast<long double>(below) - 1);
  EXPECT_EQ(convert<To>(std::numeric_limits<From>::quiet_NaN()), To{0});
  EXPECT_EQ(convert<To>(From(2.75)), To{2});
  EXPECT_EQ(convert<To>(From(-0.75)), To{0});
}

TEST(Convert, FloatsSaturateAsIntegers) {
  expect_saturation<std::int8_t, float>();
  expect_saturation<std::int8_t, double>();
  expect_saturation<std::uint8_t, float>();
  expect_saturation<std::uint8_t, double>();
  expect_saturation<std::int32_t, float>();
  expect_saturation<std::int32_t, double>();
  expect_saturation<std::int64_t, float>();
  expect_saturation<std::int64_t, double>();
  EXPECT_EQ(convert<std::int8_t>(bfloat16(1000.0F)), 127);
  EXPECT_EQ(convert<std::int8_t>(-2.75F), -2);
}

TEST(Convert, HalvesGoThroughFloat) {
  EXPECT_EQ(float(convert<float16>(std::int64_t{2049})), 2048.0F);  // even neighbour
  EXPECT_EQ(float(convert<bfloat16>(1.00390625)), 1.0F);            // 1 + 2^-8: halfway, to even
  EXPECT_EQ(float(convert<float16>(bfloat16(3.0F))), 3.0F);
  EXPECT_TRUE(std::isinf(float(convert<float16>(1e6))));
}

}  // namespace antichain::dtype_test
