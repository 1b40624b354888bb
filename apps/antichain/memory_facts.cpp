#include "apps/antichain/memory_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/base/byte_size.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

constexpr std::size_t kShown = 10;  // values in the table

std::string steps_text(const MemoryValue& value) {
  return fmt::format("{}–{}", value.first, value.last);
}

Json values_json(const MemoryReport& report) {
  Json values = Json::array();
  for (const MemoryValue& value : by_size(report)) {
    Json row = {{"name", value.name},     {"op", value.op},         {"where", value.where},
                {"bytes", value.bytes},   {"offset", value.offset}, {"first_step", value.first},
                {"last_step", value.last}};
    for (const MemoryReport& body : value.bodies) {
      row["bodies"].push_back({{"peak_bytes", body.peak_bytes},
                               {"bound_bytes", body.bound_bytes},
                               {"steps", body.num_steps},
                               {"values", values_json(body)}});
    }
    values.push_back(std::move(row));
  }
  return values;
}

}  // namespace

std::string size_text(std::size_t bytes) { return bytes_text(static_cast<std::int64_t>(bytes)); }

std::string memory_text(const MemoryReport& report, std::size_t allocated) {
  Table facts;
  facts.add({"alive at once", size_text(report.bound_bytes) + " (the least that can do)"});
  facts.add({"planned", size_text(report.peak_bytes)});
  facts.add({"planned / alive", fmt::format("{:.3f}", report.ratio())});
  facts.add({"allocated", size_text(allocated)});
  Table largest({"value", "bytes", "steps", "made by"});
  const std::vector<MemoryValue> values = by_size(report);
  for (std::size_t i = 0; i < std::min(kShown, values.size()); ++i) {
    largest.add(
        {values[i].name, size_text(values[i].bytes), steps_text(values[i]), values[i].where});
  }
  return facts.str() + "\n" + largest.str();
}

Json memory_json(const MemoryReport& report, std::size_t allocated) {
  return {{"bound_bytes", report.bound_bytes}, {"peak_bytes", report.peak_bytes},
          {"ratio", report.ratio()},           {"allocated_bytes", allocated},
          {"steps", report.num_steps},         {"values", values_json(report)}};
}

}  // namespace antichain::app
