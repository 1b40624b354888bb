// Rows of elements, each reduced by some threads of a block: lanes of a warp, or all of the block.
#pragma once

#include "antichain/backends/cuda/device/fold.cuh"

namespace antichain::device {

// Elements that lie `step` apart.
template <class S, int kCount>
Run<S, kCount> read_apart(const S* from, long long step) {
  Run<S, kCount> run;
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    run.at[e] = from[e * step];
  }
  return run;
}
// Elements that lie side by side, in one word of memory if kAligned.
template <bool kAligned, class S, int kCount>
Run<S, kCount> read_run(const S* from) {
  if constexpr (kAligned) {
    return load_run<S, kCount>(from, 0);
  } else {
    return read_apart<S, kCount>(from, 1);
  }
}
template <bool kAligned, class S, int kCount>
void write_run(S* to, const Run<S, kCount>& run) {
  if constexpr (kAligned) {
    store_run(to, 0, run);
  } else {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      to[e] = run.at[e];
    }
  }
}

// Waits for the threads of a row.
template <int kThreads>
void wait_for_row() {
  if constexpr (kThreads > kLanes) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

// Joins the totals of the threads of a row, a power of two, in an order that their number decides.
// All of them get the same bits; all threads of the block, kBlock, must come here.
template <class Fold, int kThreads, int kBlock = kThreads, class T>
T join_row(T total) {
  if constexpr (kThreads <= kLanes) {
    return join_lanes<Fold, kThreads>(total);
  } else {
    constexpr int kWarps = kThreads / kLanes;
    __shared__ T of_warps[kBlock / kLanes];
    total = join_lanes<Fold, kLanes>(total);
    __syncthreads();  // what was joined before has been read
    if (threadIdx.x % kLanes == 0) {
      of_warps[threadIdx.x / kLanes] = total;
    }
    __syncthreads();
    const unsigned first = threadIdx.x / kThreads * kWarps;
    return join_lanes<Fold, kWarps>(of_warps[first + threadIdx.x % kWarps]);
  }
}

}  // namespace antichain::device
