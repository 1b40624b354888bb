// Line charts as SVG that stands by itself inside a page.
#pragma once

#include <string>
#include <vector>

namespace antichain {

struct ChartPoint {
  double x = 0, y = 0;
};
struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;
};
struct Chart {
  std::string title, x_label;
  std::vector<ChartLine> lines;
  bool percent = false;  // y is a fraction
};

/// Returns an <svg> element; points that are not finite are left out.
std::string draw_chart(const Chart& chart);
/// Returns the same as a file of its own, with what a page would say about fonts and colours.
std::string draw_chart_file(const Chart& chart);
/// Returns `text` with the characters escaped that mean something in HTML.
std::string escape_html(std::string_view text);

}  // namespace antichain
