// How a fused op with reductions is computed: a block of rows at a time, all sections of its steps
// (fused_steps.h) on one block before the next. What a later section or a reduction reads is kept
// for the block, in a near cache.
//
// Where rows are few and so long that Reduction folds them in chunks, they are cut in the same way:
// the blocks of a section are chunks then, computed at once, and sections wait for each other. What
// later sections read has memory of the whole domain then, which belongs to the kernel.
// Reductions are folded by the loops and in the order of the reduction by itself: to the same bits.
#pragma once

#include <optional>
#include <vector>

#include "antichain/backends/cpu/elementwise/fused_steps.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// Plans once for shapes and strides, then runs many times without allocating, one at a time.
class FusedRows {
 public:
  FusedRows(const KernelContext& context, const FusedSteps& steps);

  void run(const KernelContext& context);

 private:
  enum class Home { input, output, block, shared, loops };
  // A value of the body: an input, a number or a result.
  struct Value {
    Home home = Home::loops;  // loops: it does not leave the loops of its section
    bool of_rows = false;
    DType dtype = f32;
    int index = -1;          // of the input or the output
    int made = 0, read = 0;  // sections: in which it is made, and the last one that reads it
    std::size_t at = 0;      // in the memory of the block, or in that which blocks share
  };
  // The loops of a section.
  struct Loops {
    std::vector<PieceStep> steps;
    std::vector<std::vector<int>> results;  // values, by step
    std::vector<int> in, out;               // values, as the plan counts them
    std::optional<ElementwisePlan> plan;
  };
  struct FoldStep {
    RowFold fold;
    Reduction reduction;
    int from, to;
  };
  // Three sections in a row.
  struct Round {
    Loops rows, domain;
    std::vector<FoldStep> folds;
  };
  // Rows [first_row, last_row), of each the elements [first, last).
  struct Block {
    std::int64_t first_row, last_row, first, last;
    std::byte* scratch;
  };

  std::size_t new_value(Value value);
  void add_step(PieceStep step, const std::vector<int>& results);
  void add_fold(const PieceStep& step, const RowFold& fold, int result, bool is_packed);
  void keep_for(int value, int section);
  void plan_loops(Loops& loops, bool of_rows);
  void choose_block();
  void place_values();
  std::byte* scratch() const;
  std::byte* address(const Value& value, const Block& block) const;
  void run_loops(const Loops& loops, const Block& block, std::int64_t first,
                 std::int64_t last) const;
  void run_domain(const Round& round, const Block& block) const;
  void fold(const FoldStep& step, const Block& block, void* totals) const;
  void run_block(const Block& block) const;
  void run_in_chunks();

  Shape domain_, rows_shape_;
  std::vector<Tensor> numbers_;
  std::vector<PieceInput> inputs_;
  std::vector<Value> values_;
  std::vector<Round> rounds_;
  std::int64_t rows_ = 1, row_ = 1;  // how many, and elements of each
  std::int64_t block_rows_ = 1;
  std::size_t block_bytes_ = 0, loops_bytes_ = 0;  // of scratch memory: kept values, loops' own
  std::optional<Reduction> cut_;                   // how rows are cut into chunks
  std::vector<std::byte*> given_;  // addresses of inputs and outputs in this run, by value
  std::vector<std::byte> shared_, partial_;  // the latter: totals of chunks
};

}  // namespace antichain::cpu
