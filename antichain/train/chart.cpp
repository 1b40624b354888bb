#include "antichain/train/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace antichain {

namespace {

constexpr double kWidth = 640, kHeight = 300;  // of the picture, in its own units
constexpr double kLeft = 64, kRight = 16, kTop = 34, kBottom = 44;
// Okabe and Ito's colours, which people who see few colours tell apart.
constexpr std::array<std::string_view, 7> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#7F7F7F"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// The round step (1, 2 or 5 times a power of ten) that gives about `count` marks.
double round_step(double span, int count) {
  const double raw = span / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) {
      return factor * power;
    }
  }
  return 10 * power;
}

// One direction of the picture: its range, widened to whole marks, and where a value lies.
class Axis {
 public:
  Axis(Range range, double from, double to, int marks) : from_(from), to_(to) {
    if (!(range.low <= range.high)) {
      range = {0, 1};
    }
    const double span = range.high - range.low;
    step_ = round_step(span > 0 ? span : std::max(1.0, std::abs(range.low)), marks);
    low_ = std::floor(range.low / step_) * step_;
    high_ = std::max(low_ + step_, std::ceil(range.high / step_) * step_);
  }
  double place(double value) const {
    return from_ + (to_ - from_) * (value - low_) / (high_ - low_);
  }
  std::vector<double> marks() const {
    std::vector<double> all;
    const auto count = std::llround((high_ - low_) / step_);
    for (long long i = 0; i <= count; ++i) {
      all.push_back(low_ + static_cast<double>(i) * step_);
    }
    return all;
  }

 private:
  double from_, to_, step_ = 1, low_ = 0, high_ = 1;
};

bool visible(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

std::string number(double value, bool percent) {
  const double shown = percent ? 100 * value : value;
  return fmt::format("{:.6g}{}", std::abs(shown) < 1e-12 ? 0 : shown, percent ? " %" : "");
}

std::string draw_marks(const Axis& x, const Axis& y, const Chart& chart) {
  std::string svg;
  for (const double mark : y.marks()) {
    const double height = y.place(mark);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, kWidth - kRight, height, height, kLeft - 8, height + 4, number(mark, chart.percent));
  }
  for (const double mark : x.marks()) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       x.place(mark), kHeight - kBottom + 18, number(mark, false));
  }
  return svg;
}

std::string draw_line(const ChartLine& line, std::string_view colour, const Axis& x,
                      const Axis& y) {
  std::string places;
  std::size_t count = 0;
  for (const ChartPoint& point : line.points) {
    if (visible(point)) {
      places += fmt::format("{:.1f},{:.1f} ", x.place(point.x), y.place(point.y));
      ++count;
    }
  }
  // A single point has no line.
  return count == 1 ? fmt::format(
                          "<circle r=\"3\" fill=\"{}\" cx=\"{}\" cy=\"{}\"/>\n", colour,
                          places.substr(0, places.find(',')),
                          places.substr(places.find(',') + 1, places.size() - 2 - places.find(',')))
                    : fmt::format(
                          "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" "
                          "points=\"{}\"/>\n",
                          colour, places);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string draw_chart_file(const Chart& chart) {
  constexpr std::string_view kStyle =
      "<style>svg { background: #fff; font-family: sans-serif; } text { font-size: 12px; fill: "
      "#5a5f69; } text.title { font-size: 14px; fill: #1d2129; } .grid { stroke: #e3e5e9; }"
      "</style>\n";
  constexpr std::string_view kTag = "<svg", kNamespace = " xmlns=\"http://www.w3.org/2000/svg\"";
  std::string svg = draw_chart(chart);
  svg.insert(svg.find('\n') + 1, kStyle);
  return svg.insert(kTag.size(), kNamespace);
}

std::string draw_chart(const Chart& chart) {
  Range x_range, y_range;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      if (visible(point)) {
        x_range.add(point.x);
        y_range.add(point.y);
      }
    }
  }
  const Axis x(x_range, kLeft, kWidth - kRight, 8), y(y_range, kHeight - kBottom, kTop, 5);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n"
      "<text class=\"title\" x=\"{}\" y=\"18\">{}</text>\n",
      kWidth, kHeight, escape_html(chart.title), kLeft, escape_html(chart.title));
  svg += draw_marks(x, y, chart);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, kHeight - 8, escape_html(chart.x_label));
  double legend = kWidth - kRight;
  for (std::size_t i = chart.lines.size(); i-- > 0;) {  // the legend grows from the right
    constexpr double kLetter = 7;                       // width of a letter, about
    const std::string_view colour = kColours[i % kColours.size()];
    svg += draw_line(chart.lines[i], colour, x, y);
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"18\" text-anchor=\"end\" style=\"fill:{}\">{}</text>\n",
                    legend, colour, escape_html(chart.lines[i].name));
    legend -= kLetter * static_cast<double>(chart.lines[i].name.size()) + 14;
  }
  return svg + "</svg>\n";
}

}  // namespace antichain
