// The three phases of a weighted scan (docs/design/scan.md): products of chunks of steps, the walk
// across chunks, and the walks inside of all chunks at the same time.
//
// A state has `states` parts of `units` numbers, N in all. A step is
//   g[to] := b[to] + sum of diagonals d ∘ g[from] + sum of weights M u,   u = sum of c ∘ g[from],
// and `Form` says which coefficients d and c there are. The code is for one form: its numbers are
// constants, and what a thread holds lies in registers.
//
// The first phase and the last one are the same: rows, each a state, are taken through the steps of
// a chunk, sixteen of them by one product of tensor cores. In the first phase they are the unit
// vectors, and zeros to which b is added; in the last one the states that chunks begin with. Tensor
// cores multiply numbers of 11 bits: every number is the sum of two such, and of their four
// products the three that matter in f32 are computed.
//
// Functions of tensor_core.cuh are those of a test where this is compiled for the host.
#pragma once

#include "antichain/backends/cuda/device/weighted_across.cuh"
#include "antichain/backends/cuda/device/weighted_rows.cuh"

namespace antichain::device {

// Phase 1: the product of every chunk but the last, by blocks of kMultiplyWarps.
template <class Form>
void multiply_chunks(const ScanArguments<Form>& a, Four* shared) {
  walk_rows<Form, true>(a, shared);
}

// Phase 3: a row per chunk and place, by blocks of inside_warps(). With one chunk this is the whole
// walk, step by step.
template <class Form>
void walk_inside(const ScanArguments<Form>& a, Four* shared) {
  walk_rows<Form, false>(a, shared);
}

}  // namespace antichain::device
