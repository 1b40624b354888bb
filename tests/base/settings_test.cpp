#include "antichain/base/settings.h"

#include <gtest/gtest.h>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::settings_test {

Settings sample() {
  return {"recipe 'toy'",
          "antichain recipes toy",
          {{.name = "count",
            .kind = OptionKind::integer,
            .fallback = "3",
            .doc = "how many",
            .min = 1,
            .max = 10,
            .also = "N"},
           {"rate", OptionKind::number, "0.5", "how fast", 0, 1},
           {"free", OptionKind::number, "1", "without an upper end", 0},
           {"engine", OptionKind::text, "backprop", "by whom"},
           {.name = "shape",
            .kind = OptionKind::choice,
            .fallback = "round",
            .doc = "which",
            .choices = {"round", "square"}}}};
}

TEST(Settings, StartFromFallbacks) {
  const Settings settings = sample();
  EXPECT_EQ(settings.integer("count"), 3);
  EXPECT_EQ(settings.number("rate"), 0.5);
  EXPECT_EQ(settings.text("engine"), "backprop");
}

TEST(Settings, TakeValues) {
  Settings settings = sample();
  settings.set("count", "10");
  settings.set("rate", "1e-3");
  settings.set("engine", "forward");
  settings.set("shape", "square");
  EXPECT_EQ(settings.text("shape"), "square");
  EXPECT_EQ(settings.integer("count"), 10);
  EXPECT_EQ(settings.number("rate"), 1e-3);
  EXPECT_EQ(settings.text("engine"), "forward");
}

TEST(Settings, AnOptionMayHaveTwoNames) {
  Settings settings = sample();
  settings.set("N", "5");
  EXPECT_EQ(settings.integer("count"), 5);
  settings.set("count", "6");
  EXPECT_EQ(settings.integer("N"), 6);
}

TEST(Settings, LateFallbacksYieldToTheUser) {
  Settings settings = sample();
  settings.set("count", "2");
  settings.set_fallback("count", "7");
  settings.set_fallback("rate", "0.25");
  EXPECT_EQ(settings.integer("count"), 2);
  EXPECT_EQ(settings.number("rate"), 0.25);
}

TEST(Settings, RefuseWhatDoesNotFit) {
  Settings settings = sample();
  const auto refuses = [&](std::string_view name, std::string_view value,
                           std::string_view message) {
    expect_error<InvalidArgument>(message, [&] { settings.set(name, value); });
  };
  refuses(
      "cuont", "1",
      "recipe 'toy' has no option 'cuont'; did you mean 'count'? (`antichain recipes toy` lists "
      "them)");
  refuses("shape", "flat", "option 'shape' must be one of round, square, got 'flat'");
  refuses("count", "ten", "option 'count' must be a whole number, got 'ten'");
  refuses("count", "2.5", "option 'count' must be a whole number, got '2.5'");
  refuses("count", "", "option 'count' must be a whole number, got ''");
  refuses("count", "3 ", "option 'count' must be a whole number, got '3 '");
  refuses("count", "0", "option 'count' must be within [1, 10], got 0");
  refuses("count", "11", "option 'count' must be within [1, 10], got 11");
  refuses("count", "99999999999999999999",
          "option 'count' must be a whole number, got '99999999999999999999'");
  refuses("rate", "fast", "option 'rate' must be a number, got 'fast'");
  refuses("rate", "nan", "option 'rate' must be a number, got 'nan'");
  refuses("free", "inf", "option 'free' must be a number, got 'inf'");
  refuses("free", "-3", "option 'free' must be within [0, inf], got -3");
  refuses("rate", "-1", "option 'rate' must be within [0, 1], got -1");
  refuses("engine", "", "option 'engine' must not be empty");
  EXPECT_EQ(settings.integer("count"), 3);
}

}  // namespace antichain::settings_test
