// How a chain is divided among blocks of threads, by measuring: estimates (chain_choice.h) know
// nothing of how fast one GPU reads and another computes.
#pragma once

#include "antichain/backends/cuda/chains/chain_choice.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cuda {

/// Fills in what a kernel of a chain is told beside addresses: sizes, and for inputs that are read
/// as they lie from step to step and from group to group.
class ChainArguments {
 public:
  ChainArguments(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}

  static constexpr std::size_t length() { return 0; }
  static constexpr std::size_t rows() { return 1; }
  std::size_t input(std::size_t i) const { return 2 + i; }
  std::size_t output(std::size_t i) const { return input(inputs_) + i; }
  std::size_t groups() const { return output(outputs_); }
  std::size_t step(std::size_t i) const { return groups() + 1 + i; }
  std::size_t group(std::size_t i) const { return step(inputs_) + i; }
  std::size_t count() const { return group(inputs_); }

  /// Returns the launch of a choice; strides and addresses are not set.
  Launch launch(const Context& device, const ChainChoice& choice, const ChainRows& rows,
                std::int64_t steps) const;

 private:
  std::size_t inputs_, outputs_;
};

/// Returns the choice that takes least. It is measured once, on memory of its own, and remembered.
/// The estimated one where there is little to do, where nothing can be remembered, or where memory
/// for trying would be missing elsewhere.
ChainChoice tuned_choice(const KernelContext& context, const ChainRows& rows,
                         const Context& device);

}  // namespace antichain::cuda
