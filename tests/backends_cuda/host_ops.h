// What a run does on the host although it is one of a GPU.
#pragma once

#include <string>
#include <vector>

#include "antichain/runtime/kernel_table.h"
#include "antichain/runtime/run_observer.h"

namespace antichain {

/// Collects the ops that ran on the host.
class HostOps final : public RunObserver {
 public:
  void ran(const OpEvent& event) override {
    if (event.kernel.name == kReferenceKernel && !event.op.def().on_any_device) {
      names.push_back(event.where);
    }
  }
  std::vector<std::string> names;
};

}  // namespace antichain
