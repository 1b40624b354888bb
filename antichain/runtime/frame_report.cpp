// What a Frame says about its memory.
#include "antichain/runtime/frame.h"

namespace antichain {

MemoryReport Frame::memory_report() const {
  MemoryReport report{.peak_bytes = plan_.bytes,
                      .bound_bytes = live_bytes_bound(lifetimes_),
                      .num_steps = steps_.size()};
  for (const Section& section : sections_) {
    report.num_parallel_steps += section.last - section.first;
  }
  report.values.resize(lifetimes_.size());
  for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
    const Lifetime& lifetime = lifetimes_[i];
    report.values[i].bytes = lifetime.bytes;
    report.values[i].offset = plan_.offsets[i];
    report.values[i].first = lifetime.first;
    report.values[i].last = lifetime.last;
  }
  const auto describe = [&](std::size_t planned, const OpRunner& runner, std::string name) {
    MemoryValue& value = report.values[planned];
    value.name = std::move(name);
    value.op = runner.op().def().name;
    value.where = runner.where();
  };
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    const BoundStep& bound = *steps_[n];
    for (Slot slot : bound.step->outputs) {
      const bool planned = storage_[slot].home == Home::planned && storage_[slot].root == slot;
      // What takes over memory is told by the value that had it first.
      if (planned && report.values[planned_at_[slot]].name.empty()) {
        describe(planned_at_[slot], bound.step->runner, program_.value(slot).name());
      }
    }
    if (bound.workspace_at) {
      describe(*bound.workspace_at, bound.step->runner, "workspace");
      for (const auto& region : bound.regions) {
        report.values[*bound.workspace_at].bodies.push_back(region->memory_report());
      }
    }
  }
  return report;
}

}  // namespace antichain
