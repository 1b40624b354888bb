#include "antichain/runtime/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace antichain {

namespace {

template <class Tensors>
std::int64_t bytes_of(const Tensors& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor* tensor : tensors) {
    bytes += tensor->defined() ? static_cast<std::int64_t>(tensor->bytes()) : 0;
  }
  return bytes;
}

std::string json_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result;
}

}  // namespace

void Profiler::ran(const OpEvent& event) {
  const double seconds = std::chrono::duration<double>(event.end - event.start).count();
  // The ops that started within this one belong to its regions.
  double inner = 0;
  while (!open_.empty() && events_[open_.back()].start >= event.start) {
    inner += events_[open_.back()].seconds;
    open_.pop_back();
  }
  open_.push_back(events_.size());
  events_.push_back({event.op.def().name, event.kernel.name, event.where, event.start, seconds,
                     std::max(seconds - inner, 0.0),
                     bytes_of(event.inputs) + bytes_of(event.outputs)});
}

std::vector<ProfileRow> Profiler::rows() const {
  std::map<std::pair<std::string, std::string>, ProfileRow> by_kind;
  for (const Event& event : events_) {
    ProfileRow& row = by_kind[{event.op, event.kernel}];
    row.op = event.op;
    row.kernel = event.kernel;
    row.count += 1;
    row.seconds += event.own_seconds;
    row.bytes += event.bytes;
  }
  std::vector<ProfileRow> rows;
  for (auto& entry : by_kind) {
    rows.push_back(std::move(entry.second));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string Profiler::table() const {
  double total = 0;
  const std::vector<ProfileRow> all = rows();
  for (const ProfileRow& row : all) {
    total += row.seconds;
  }
  std::string text = fmt::format("{:<20} {:<16} {:>8} {:>12} {:>7} {:>12}\n", "op", "kernel",
                                 "count", "time ms", "share", "MB moved");
  for (const ProfileRow& row : all) {
    text += fmt::format("{:<20} {:<16} {:>8} {:>12.3f} {:>6.1f}% {:>12.3f}\n", row.op, row.kernel,
                        row.count, row.seconds * 1e3, total > 0 ? 100 * row.seconds / total : 0,
                        static_cast<double>(row.bytes) / 1e6);
  }
  return text;
}

std::string Profiler::chrome_trace() const {
  std::string text = "{\"traceEvents\":[";
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const double start =
        std::chrono::duration<double, std::micro>(event.start.time_since_epoch()).count();
    text += fmt::format(
        "{}\n{{\"name\":\"{}\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":1,"
        "\"tid\":1,\"args\":{{\"kernel\":\"{}\",\"where\":\"{}\",\"bytes\":{}}}}}",
        i ? "," : "", json_escaped(event.op), start, event.seconds * 1e6,
        json_escaped(event.kernel), json_escaped(event.where), event.bytes);
  }
  return text + "\n]}\n";
}

}  // namespace antichain
