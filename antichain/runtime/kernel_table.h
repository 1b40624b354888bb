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

using KernelFunction = std::function<void(KernelContext&)>;

struct Kernel {
  std::string name;  // says what it does: "openblas gemm"
  /// Says whether it can run this op, from what is known when the graph is compiled.
  std::function<Support(Op)> supports;
  KernelFunction run = nullptr;
  /// Instead of `run`: prepares for the shapes, strides and attributes in the context, once, and
  /// returns what then runs many times. Tensors have no memory yet while planning. The function is
  /// only run by one thread at a time, so it may own scratch memory.
  std::function<KernelFunction(const KernelContext&)> plan = nullptr;
  bool strided_inputs = false;  // takes views of any strides; others are given packed inputs
  /// Writes an element of an output only after it has read that element of all inputs of the same
  /// shape, so that an output may take the memory of such an input.
  bool in_place = false;
  /// Says for `in_place` which input an output may take the memory of; empty: any.
  std::function<bool(Op op, int out, int in)> may_overwrite = nullptr;
  bool skips_unwanted = false;  // outputs that nobody reads may have no memory
  bool runs_regions = false;    // by KernelContext::run_region; others look into them by themselves
};

class KernelTable {
 public:
  /// Adds a candidate behind those that the op already has.
  void add(const OpDef& def, Kernel kernel);
  std::span<const Kernel> candidates(const OpDef& def) const;
  /// Returns whether a candidate supports the op, or it needs none.
  bool has_kernel(Op op) const;
  /// Returns the first candidate that supports the op, or its reference, logging every refusal on
  /// the way there.
  Kernel choose(Op op, const Logger& logger) const;

 private:
  std::unordered_map<const OpDef*, std::vector<Kernel>> kernels_;
};

inline constexpr std::string_view kReferenceKernel = "reference";

}  // namespace antichain
