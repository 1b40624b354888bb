// RowLayout: how the rows of a fused op are dealt to threads, and where their elements lie.
//
// Sizes and layouts alone decide, never the GPU or addresses: so do the order of adding and the
// bits.
#pragma once

#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/backends/cuda/rows/row_body.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cuda {

class RowLayout {
 public:
  RowLayout(const KernelContext& context, const RowBody& body);

  StridedLoop outer, inner;  // over the rows, and over the elements of one
  std::int64_t width = 1;    // elements of a run, which a thread reads or writes at once
  std::int64_t threads = 1;  // of a row: a power of two
  std::int64_t runs = 0;   // of a thread, which keeps their elements; 0: it reads them in each walk
  std::int64_t parts = 1;  // blocks that share a row
  std::int64_t part_length;  // elements of a part: whole runs

  std::int64_t rows() const { return outer.count; }
  std::int64_t length() const { return inner.count; }
  std::int64_t block_threads() const;
  std::int64_t blocks() const;
  bool keeps() const { return runs > 0; }
  /// Returns whether the elements that threads keep are all there.
  bool is_full() const { return length() == threads * width * runs; }
  /// Returns whether an input has one element for a row.
  bool is_of_row(std::size_t input) const;
  /// Returns whether runs of an input lie side by side.
  bool is_run(std::size_t input) const { return is_run(input, width); }
  /// Returns whether all runs begin at multiples of their size in memory: views may begin anywhere.
  bool is_aligned(const KernelContext& run) const;

  /// Lets so many blocks share a row, or fewer.
  void split(std::int64_t most_parts);

 private:
  bool is_run(std::size_t input, std::int64_t length) const;
  std::int64_t widest_run(const KernelContext& context) const;
  void choose_threads(const KernelContext& context, const RowBody& body);

  std::vector<std::size_t> run_outputs_;  // those that are stored element by element
};

}  // namespace antichain::cuda
