#include "apps/antichain/loss_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

constexpr std::size_t kRows = 8, kPoints = 1000;

std::string loss_text(double loss) { return fmt::format("{:.7g}", loss); }

}  // namespace

double LossCurves::largest_difference(std::size_t run) const {
  const std::vector<double>&first = curves_[0].losses, &own = curves_[run].losses;
  double largest = 0;
  for (std::size_t i = 0; i < std::min(first.size(), own.size()); ++i) {
    const double difference = std::abs(own[i] - first[i]);
    if (!std::isfinite(difference)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    largest = std::max(largest, difference);
  }
  return largest;
}

std::vector<std::size_t> LossCurves::steps(std::size_t count) const {
  std::size_t shortest = curves_.empty() ? 0 : curves_[0].losses.size();
  for (const Curve& curve : curves_) {
    shortest = std::min(shortest, curve.losses.size());
  }
  const std::size_t shown = std::min(count, shortest);
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < shown; ++i) {
    steps.push_back(shown == 1 ? 0 : i * (shortest - 1) / (shown - 1));
  }
  return steps;
}

std::string LossCurves::table() const {
  std::vector<std::string> headers = {"loss of step"};
  for (const Curve& curve : curves_) {
    headers.push_back(curve.name);
  }
  Table table(headers);
  for (const std::size_t step : steps(kRows)) {
    std::vector<std::string> cells = {std::to_string(step + 1)};
    for (const Curve& curve : curves_) {
      cells.push_back(loss_text(curve.losses[step]));
    }
    table.add(cells);
  }
  std::vector<std::string> differences = {"largest difference"};
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    differences.push_back(i == 0 ? "–" : fmt::format("{:.1e}", largest_difference(i)));
  }
  table.add(differences);
  return table.str();
}

Json LossCurves::json() const {
  Json rows = Json::array();
  for (const std::size_t step : steps(kRows)) {
    Json row = {{"step", step + 1}};
    for (const Curve& curve : curves_) {
      const double loss = curve.losses[step];
      row[curve.name] = std::isfinite(loss) ? Json(loss) : Json(nullptr);
    }
    rows.push_back(row);
  }
  return rows;
}

Chart LossCurves::chart() const {
  Chart chart{.title = "loss of each step", .x_label = "step", .lines = {}};
  const std::vector<std::size_t> shown = steps(kPoints);
  for (const Curve& curve : curves_) {
    ChartLine line{.name = curve.name, .points = {}};
    for (const std::size_t step : shown) {
      line.points.push_back({static_cast<double>(step + 1), curve.losses[step]});
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

}  // namespace antichain::app
