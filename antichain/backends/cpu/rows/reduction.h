// Reductions over any axes of a packed value, on all threads.
//
// After merging neighbours, a reduction is either by rows (the innermost axis is reduced) or by
// columns (it is kept). Its outputs are cut into blocks; where there are few of them, what is
// reduced is cut into chunks, too, whose totals are joined in order. Both cuts depend on sizes
// alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "antichain/backends/cpu/simd/fold_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/base/function_ref.h"
#include "antichain/tensor/shape.h"

namespace antichain::cpu {

/// One walk over the elements. A second walk gets as its shifts what `shift` makes of the totals of
/// the first.
struct FoldStage {
  Fold fold;
  FoldLoops loops;
};

/// Takes the final totals of `count` consecutive outputs from `first` on, and their shifts.
template <class Total>
using Finish = FunctionRef<void(std::int64_t first, std::int64_t count, const Total* totals,
                                const double* shifts)>;

/// A part of a value: rows of packed elements. By rows, row i belongs to output first_output + i;
/// by columns, column i does.
struct ReductionMatrix {
  std::int64_t offset, rows, stride, columns;  // in elements
  std::int64_t first_output;
  std::int64_t line;  // position of the first element among those that are reduced
};

/// Joins totals with those of elements that follow, as a reduction in chunks does.
template <class Total>
void join_totals(Fold fold, Total* totals, const Total* others, std::int64_t count);

class Reduction {
 public:
  static constexpr std::int64_t kMaxBlock = 2048;  // outputs that are finished at once

  /// Plans for a packed value; reduced[i] says whether axis i is.
  Reduction(const Shape& shape, const std::vector<bool>& reduced, std::size_t element_bytes);

  /// Returns how many outputs there are, and how many elements each of them is reduced from.
  std::int64_t outputs() const { return outputs_; }
  std::int64_t count() const { return count_; }
  /// Returns whether the innermost axis is kept; and whether outputs are put together from chunks:
  /// otherwise they are finished one block after another, while their elements are in a cache.
  bool by_columns() const { return by_columns_; }
  bool in_chunks() const { return chunks_ > 1; }
  /// Returns how many elements of an output make a chunk, and how many chunks an output has.
  std::int64_t chunk() const { return chunk_; }
  std::int64_t chunks() const { return chunks_; }

  /// Calls f(matrix) for matrices that together hold all elements of a block of outputs: [first,
  /// first + count) as `Finish` gets it when there are no chunks.
  template <class F>
  void for_each_matrix(std::int64_t first, std::int64_t count, F&& f) const {
    for_each_matrix_of(block_of(first, count), 0, count_, f);
  }
  /// Calls f(matrix) for matrices that together hold all elements, several at once.
  template <class F>
  void parallel_matrices(F&& f) const {
    parallel_ranges(blocks_ * chunks_, grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const std::int64_t chunk = n % chunks_ * chunk_;
        for_each_matrix_of(block_at(n / chunks_), chunk, std::min(count_, chunk + chunk_), f);
      }
    });
  }

  /// Folds into totals that begin with the neutral element. Total is double for floats and int64
  /// for integers. Not to be called by two threads at once: it owns scratch memory.
  template <class Total>
  void run(const void* x, const FoldStage& stage, Finish<Total> finish);
  /// Where the last axes are reduced: folds positions [first, last) of outputs whose elements
  /// follow each other from x on. Totals have the bits that run() finds for the same positions.
  template <class Total>
  void fold_rows(const void* x, std::int64_t outputs, std::int64_t first, std::int64_t last,
                 const FoldStage& stage, Total* totals) const;
  /// Folds twice.
  void run_twice(const void* x, const FoldStage& first, FunctionRef<double(double)> shift,
                 const FoldStage& second, Finish<double> finish);

 private:
  struct Axis {
    std::int64_t size = 1, stride = 0;
  };
  // One block of outputs: where its elements begin, and which outputs they are.
  struct Block {
    std::int64_t offset, first_output, width;
  };

  Block block_of(std::int64_t first_output, std::int64_t width) const;
  Block block_at(std::int64_t index) const;
  std::int64_t grain() const;  // blocks of a task
  // Walks positions [first, last) of what is reduced.
  template <class F>
  void for_each_matrix_of(const Block& block, std::int64_t first, std::int64_t last, F&& f) const {
    for (std::int64_t at = first; at < last;) {
      const std::int64_t start = at % line_.size;
      const std::int64_t length = std::min(line_.size - start, last - at);
      std::int64_t offset = block.offset + start * line_.stride, rest = at / line_.size;
      for (std::size_t i = reduced_.size(); i-- > 0; rest /= reduced_[i].size) {
        offset += rest % reduced_[i].size * reduced_[i].stride;
      }
      f(by_columns_
            ? ReductionMatrix{offset, length, line_.stride, block.width, block.first_output, at}
            : ReductionMatrix{offset, block.width, width_.stride, length, block.first_output, at});
      at += length;
    }
  }
  template <class Total>
  void fold_chunk(const std::byte* x, const Block& block, std::int64_t first, std::int64_t last,
                  const FoldStage& stage, const double* shifts, Total* totals) const;
  template <class Total>
  void fold_all_chunks(const std::byte* x, const FoldStage& stage, const double* shifts,
                       Finish<Total> finish);

  std::int64_t outputs_ = 1, count_ = 1, element_bytes_ = 1;
  bool by_columns_ = false;
  Axis line_;                         // reduced: packed elements of a row, or rows below each other
  Axis width_;                        // kept: rows below each other, or packed columns
  std::vector<Axis> kept_, reduced_;  // the other axes, outermost first
  std::int64_t block_ = 1;            // outputs of a block, along width_
  std::int64_t blocks_ = 0;
  std::int64_t chunk_ = 1, chunks_ = 1;  // in positions along line_ and reduced_
  std::int64_t repeats_ = 1;             // how many rows of few columns are taken as one
  std::vector<double> shifts_;           // of all outputs, when there are chunks
  std::vector<std::byte> partial_;       // totals of chunks, double or int64
};

}  // namespace antichain::cpu
