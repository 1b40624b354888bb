#include "antichain/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "antichain/base/output_file.h"

namespace antichain {

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2129; --faint: #8a8f99; --rule: #e3e5e9; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ec; --faint: #9aa0ab; --rule: #343941; --paper: #15181d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid var(--rule); text-align: left; }
th { color: var(--faint); font-weight: 500; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1.5rem; }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--faint); }
svg text.title { font-size: 14px; fill: var(--ink); font-weight: 600; }
svg .grid { stroke: var(--rule); }
)";

std::string row(std::string_view cell, const std::vector<std::string>& texts) {
  std::string html = "<tr>";
  for (const std::string& text : texts) {
    html += fmt::format("<{0}>{1}</{0}>", cell, escape_html(text));
  }
  return html + "</tr>\n";
}

std::string table_html(const ReportTable& table) {
  std::string html = fmt::format("<h2>{}</h2>\n<table>\n", escape_html(table.title));
  if (!table.headers.empty()) {
    html += row("th", table.headers);
  }
  for (const std::vector<std::string>& texts : table.rows) {
    html += row("td", texts);
  }
  return html + "</table>\n";
}

ChartLine line_of(std::string name, const Curve& curve) {
  ChartLine line{.name = std::move(name)};
  for (const CurvePoint& point : curve) {
    line.points.push_back({static_cast<double>(point.step), point.value});
  }
  return line;
}

}  // namespace

std::vector<Chart> charts_of(const NamedHistories& histories) {
  std::map<std::string, Chart> by_measure;
  for (const auto& [run, history] : histories) {
    for (const auto& [name, curve] : history) {
      const std::size_t slash = name.rfind('/');
      const std::string measure = slash == std::string::npos ? name : name.substr(slash + 1);
      const std::string part = slash == std::string::npos ? name : name.substr(0, slash);
      Chart& chart = by_measure[measure];
      chart.title = measure;
      chart.x_label = "step";
      chart.percent = measure == "accuracy";
      chart.lines.push_back(
          line_of(histories.size() > 1 ? fmt::format("{} {}", run, part) : part, curve));
    }
  }
  std::vector<Chart> charts;
  for (auto& [measure, chart] : by_measure) {
    charts.push_back(std::move(chart));
  }
  // What is minimised comes first.
  std::stable_partition(charts.begin(), charts.end(),
                        [](const Chart& chart) { return chart.title == "loss"; });
  return charts;
}

void write_report(const std::filesystem::path& path, const Report& report) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      escape_html(report.title), kStyle);
  if (!report.charts.empty()) {
    html += "<div class=\"charts\">\n";
    for (const Chart& chart : report.charts) {
      html += draw_chart(chart);
    }
    html += "</div>\n";
  }
  for (const ReportTable& table : report.tables) {
    html += table_html(table);
  }
  write_file(path, html + "</body>\n</html>\n");
}

}  // namespace antichain
