// What kernels of active_units read.
#pragma once

#include <cstdint>
#include <span>

#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// The inputs of one run.
struct ActiveInputs {
  const std::int32_t *codes, *starts, *ids;
  std::int64_t step, examples, tables, probes, num_starts, table_rows;

  explicit ActiveInputs(const KernelContext& run)
      : codes(run.in(0).data<std::int32_t>()),
        starts(run.in(1).data<std::int32_t>()),
        ids(run.in(2).data<std::int32_t>()),
        step(run.in(3).item<std::int64_t>()),
        examples(run.in(0).shape()[0]),
        tables(run.in(0).shape()[1]),
        probes(run.in(0).shape()[2]),
        num_starts(run.in(1).shape()[1]),
        table_rows(run.in(2).shape()[1]) {}

  /// Calls f(ids of a bucket) for the buckets of an example, beginning with another table in each
  /// step.
  template <class F>
  void for_each_bucket(std::int64_t example, F&& f) const {
    for (std::int64_t k = 0; k < tables; ++k) {
      const std::int64_t table = (step + k) % tables;
      const std::int32_t* const own = codes + (example * tables + table) * probes;
      for (std::int64_t probe = 0; probe < probes; ++probe) {
        const std::int32_t* const start = starts + table * num_starts + own[probe];
        f(std::span(ids + table * table_rows + start[0],
                    static_cast<std::size_t>(start[1] - start[0])));
      }
    }
  }
};

}  // namespace antichain::cpu
