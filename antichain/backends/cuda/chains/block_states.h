// States of a narrow chain that stay where lanes have exchanged them until those of a block of
// steps are stored together (device/step_blocks.cuh).
#pragma once

#include <map>
#include <string>

#include "antichain/backends/cuda/chains/chain_body.h"

namespace antichain::cuda {

class BlockStates {
 public:
  /// Finds the states that a product exchanges as they are; none where it is not wanted.
  BlockStates(Op chain, const ChainBody& body, bool is_wanted);

  /// Returns whether a stage exchanges such a state: it has memory for two blocks of steps.
  bool is_kept(std::size_t stage) const;
  /// Returns whether an output is stored block by block: the states before each step, or those
  /// behind it, which the next step finds before it.
  bool holds(int output) const { return before(output) >= 0 || after(output) >= 0; }

  /// Returns the text that declares `done`, the steps of all whole blocks, `half`, the one of the
  /// memory that belongs to the block at hand, and functions: store_kept stores the first steps of
  /// the block in a half, store_block the last whole one.
  std::string stores() const;
  /// Returns the text that stores, behind the last step, what the next one would.
  std::string store_last() const;

 private:
  // The state that an output holds before each step or behind it; -1: none that is kept.
  int before(int output) const;
  int after(int output) const;

  Op chain_;
  ChainLayout layout_;
  const ChainBody& body_;
  bool is_reversed_;
  std::map<int, std::size_t> kept_;  // by state: the stage that exchanges it
};

}  // namespace antichain::cuda
