#include "antichain/train/report.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/base/temporary_folder.h"

namespace antichain::report_test {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Charts, OnePerMeasureAndALinePerCurve) {
  const History history = {{"train/loss", {{1, 2, 0}, {2, 1, 0}}},
                           {"test/loss", {{2, 1.5, 0}}},
                           {"test/accuracy", {{2, 0.5, 0}}}};
  const std::vector<Chart> one = charts_of({{"a", history}});
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[0].title, "loss");
  ASSERT_EQ(one[0].lines.size(), 2U);
  EXPECT_EQ(one[0].lines[0].name, "test");
  EXPECT_EQ(one[0].lines[1].points[1].y, 1);
  EXPECT_TRUE(one[1].percent);
  const std::vector<Chart> two = charts_of({{"a", history}, {"b", history}});
  ASSERT_EQ(two[0].lines.size(), 4U);
  EXPECT_EQ(two[0].lines[2].name, "b test");
}

TEST(Charts, PlacesLieInsideThePicture) {
  const std::string svg =
      draw_chart({.title = "loss", .x_label = "step", .lines = {{"l", {{0, 1}, {10, 3}}}}});
  // Both corners: the lowest point at the left of the bottom line, the highest at its end.
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,256.0 624.0,34.0 \""));
}

TEST(Charts, OddCurvesAreDrawnToo) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(draw_chart({.lines = {{"l", {{1, 5}}}}}),
              ContainsRegex("<circle r=\"3\".*cx=\"[0-9.]+\" cy=\"[0-9.]+\""));
  EXPECT_THAT(draw_chart({.lines = {{"l", {{1, nan}, {2, 1}, {3, 1}}}}}), Not(HasSubstr("nan")));
  EXPECT_THAT(draw_chart({}), HasSubstr("</svg>"));
}

TEST(Report, IsOnePageThatNeedsNothingElse) {
  const TemporaryFolder folder;
  write_report(
      folder / "report.html",
      {.title = "a < b & \"c\"",
       .tables = {{.title = "settings", .headers = {"name", "value"}, .rows = {{"lr", "<1>"}}}},
       .charts = charts_of({{"a", {{"train/loss", {{1, 2, 0}, {2, 1, 0}}}}}})});
  const std::string page = read_text(folder / "report.html");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b &amp; &quot;c&quot;</title>"));
  EXPECT_THAT(page, HasSubstr("<td>&lt;1&gt;</td>"));
  EXPECT_THAT(page, HasSubstr("<polyline"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
}

TEST(Chart, AsAFile) {
  const Chart chart{.title = "loss", .x_label = "step", .lines = {{"a & b", {{1, 2}, {2, 1}}}}};
  const std::string file = draw_chart_file(chart);
  EXPECT_EQ(file.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=", 0), 0U);
  EXPECT_NE(file.find("<style>"), std::string::npos);
  EXPECT_NE(file.find(">a &amp; b</text>"), std::string::npos);
}

}  // namespace antichain::report_test
