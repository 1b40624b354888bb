// Chains whose states are rows of 32 numbers at most, a warp per row: a lane keeps its unit of
// every value, and its columns of every matrix, in registers, and no thread waits for another warp.
#pragma once

#include "antichain/backends/cuda/chains/chain_code.h"

namespace antichain::cuda {

/// Returns whether a chain is that narrow: f32 values, all as wide as the first state, some times
/// as wide, or one number; matrices that stay the same over all steps.
Support narrow_chain_support(const ChainBody& body);

/// Returns the kernel, whose arguments are those of chain_kernel; a block is one warp. Sequences
/// must begin at multiples of 16 bytes.
ChainKernel narrow_chain_kernel(Op chain, const ChainBody& body);

/// Units of the states: lanes that have something to do.
inline std::int64_t narrow_units(const ChainBody& body) { return body.values[0].columns; }

/// Values are one number, the same in all lanes, or some numbers per lane.
inline bool is_one_number(std::int64_t columns) { return columns == 1; }
inline std::int64_t narrow_registers(std::int64_t columns, std::int64_t units) {
  return is_one_number(columns) ? 1 : columns / units;
}

}  // namespace antichain::cuda
