// Kernels by operator: ordered candidates, each of which may refuse; the op's reference comes last.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "antichain/base/logger.h"
#include "antichain/base/support.h"
#include "antichain/graph/graph.h"
#include "antichain/graph/kernel_context.h"

namespace antichain {

struct Kernel {
  std::string name;  // says what it does: "openblas gemm"
  /// Says whether it can run this op, from what is known when the graph is compiled.
  std::function<Support(Op)> supports;
  std::function<void(KernelContext&)> run;
};

class KernelTable {
 public:
  /// Adds a candidate behind those that the op already has.
  void add(const OpDef& def, Kernel kernel);
  std::span<const Kernel> candidates(const OpDef& def) const;
  /// Returns the first candidate that supports the op, or its reference, logging every refusal on
  /// the way there.
  Kernel choose(Op op, const Logger& logger) const;

 private:
  std::unordered_map<const OpDef*, std::vector<Kernel>> kernels_;
};

inline constexpr std::string_view kReferenceKernel = "reference";

}  // namespace antichain
