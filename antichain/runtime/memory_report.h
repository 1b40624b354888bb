// MemoryReport: which value lies where in the memory of a run, and when. Plain data, for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "antichain/base/out_of_memory.h"

namespace antichain {

struct MemoryReport;

/// A value, with those that took over its memory, or the workspace of an op's bodies.
struct MemoryValue {
  std::string name;   // of the value: "encoder.weight", "%7"
  std::string op;     // that makes it: "matmul"
  std::string where;  // the op and where it was built: "matmul in 'encoder' (model.cpp:12)"
  std::size_t bytes = 0;
  std::size_t offset = 0;
  std::size_t first = 0, last = 0;   // steps at which it must be there
  std::vector<MemoryReport> bodies;  // of a workspace: what lies in it, one for each body
};

struct MemoryReport {
  std::size_t peak_bytes = 0;   // of the whole piece of memory
  std::size_t bound_bytes = 0;  // the most bytes alive at one step: no plan can do with less
  std::size_t num_steps = 0;
  std::size_t num_parallel_steps = 0;  // of them, those that run beside others
  std::vector<MemoryValue> values;     // in the order in which they come alive

  /// Returns how much memory there is relative to what is needed; 1 is perfect.
  double ratio() const {
    return bound_bytes == 0 ? 1
                            : static_cast<double>(peak_bytes) / static_cast<double>(bound_bytes);
  }
};

/// Returns the values, largest first.
std::vector<MemoryValue> by_size(const MemoryReport& report);
/// Returns the error with what this plan takes, its largest values and how to make do with less.
OutOfMemory explained(const OutOfMemory& error, const MemoryReport& report);

}  // namespace antichain
