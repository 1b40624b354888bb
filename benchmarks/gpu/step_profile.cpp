#include "benchmarks/gpu/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

namespace antichain::bench {

namespace {

using Clock = std::chrono::steady_clock;

class WaitingObserver final : public RunObserver {
 public:
  struct Row {
    int count = 0;
    double microseconds = 0;
  };

  explicit WaitingObserver(const Backend& backend)
      : backend_(backend), small_(backend.allocate(f32, {1})) {
    wait();
  }

  void ran(const OpEvent& event) override {
    const Clock::time_point before = last_;
    wait();
    Row& row = rows_[describe(event)];
    ++row.count;
    row.microseconds += std::chrono::duration<double, std::micro>(last_ - before).count();
  }
  const std::map<std::string, Row>& rows() const { return rows_; }

 private:
  void wait() {
    static_cast<void>(backend_.to_host(small_));
    last_ = Clock::now();
  }
  static std::string describe(const OpEvent& event) {
    std::string text = fmt::format("{} [{}]", event.op.def().name, event.kernel.name);
    for (const auto& tensor : event.inputs) {
      text += fmt::format(" {}{}", name(tensor->dtype()), to_string(tensor->shape()));
    }
    text += " ->";
    for (const auto& tensor : event.outputs) {
      text += tensor->defined()
                  ? fmt::format(" {}{}", name(tensor->dtype()), to_string(tensor->shape()))
                  : " none";
    }
    for (const RegionId region : event.op.regions()) {
      text += ':';
      for (const OpId id : event.op.graph().region(region).ops) {
        text += fmt::format(" {}", event.op.graph().op(id).def().name);
      }
    }
    return text;
  }

  const Backend& backend_;
  Tensor small_;
  Clock::time_point last_;
  std::map<std::string, Row> rows_;
};

}  // namespace

std::string profile_table(const TrainingStep& step) {
  const Backend& backend = step.session->backend();
  Feeds feeds;
  for (const auto& [name, value] : step.feeds) {
    feeds[name] = backend.to_device(value);
  }
  constexpr int kWarmUp = 3;  // kernels are compiled by the first
  for (int run = 0; run < kWarmUp; ++run) {
    step.executable(feeds);
  }
  WaitingObserver observer(backend);
  step.executable.run(feeds, {&observer});
  std::vector<std::pair<std::string, WaitingObserver::Row>> rows(observer.rows().begin(),
                                                                 observer.rows().end());
  std::ranges::sort(rows, std::ranges::greater(),
                    [](const auto& row) { return row.second.microseconds; });
  std::string text = fmt::format("{:>10} {:>6}  op\n", "us", "count");
  for (const auto& [name, row] : rows) {
    text += fmt::format("{:>10.1f} {:>6}  {}\n", row.microseconds, row.count, name);
  }
  return text;
}

}  // namespace antichain::bench
