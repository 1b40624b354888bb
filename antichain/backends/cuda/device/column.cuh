// Columns of elements, each reduced by some threads of a block.
#pragma once

#include "antichain/backends/cuda/device/row.cuh"

namespace antichain::device {

// Joins what a block has found of columns side by side: kAcross threads that stand beside each
// other have kTotals columns each, and kAlong such lines of threads have them all. Calls
// give(column, total) for each column, by some thread.
template <class Fold, int kAcross, int kAlong, int kTotals, class T, class Give>
void join_columns(T (&totals)[kTotals], Give give) {
  constexpr int kColumns = kAcross * kTotals, kThreads = kAcross * kAlong;
  constexpr int kBeside = kAcross < kLanes ? kLanes : kAcross;  // threads that share a line
  __shared__ T lines[kThreads / kBeside][kColumns];
#pragma unroll
  for (int step = kLanes / 2; step >= kAcross; step /= 2) {
#pragma unroll
    for (int n = 0; n < kTotals; ++n) {
      totals[n] = Fold::join(totals[n], __shfl_down_sync(~0U, totals[n], step));
    }
  }
  if (threadIdx.x % kBeside < kAcross) {
#pragma unroll
    for (int n = 0; n < kTotals; ++n) {
      lines[threadIdx.x / kBeside][threadIdx.x % kBeside * kTotals + n] = totals[n];
    }
  }
  __syncthreads();
  for (unsigned column = threadIdx.x; column < kColumns; column += kThreads) {
    T total = lines[0][column];
#pragma unroll
    for (int line = 1; line < kThreads / kBeside; ++line) {
      total = Fold::join(total, lines[line][column]);
    }
    give(column, total);
  }
}

}  // namespace antichain::device
