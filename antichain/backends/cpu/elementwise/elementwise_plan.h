// How element-wise ops read their operands: outputs that are packed, inputs that are any views
// broadcast to them, loops that take packed pieces. Several ops are computed together: all of them
// on one piece, which stays in the nearest cache, before the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "antichain/backends/cpu/jit/cluster_code.h"
#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/backends/cpu/threads/work_blocks.h"
#include "antichain/tensor/tensor.h"

namespace antichain::cpu {

/// Returns the bytes of an element, signed as offsets are.
inline std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

/// One loop of a plan. Operands are numbers of values: the inputs come first, then the numbers,
/// then the results of the steps in order.
struct PieceStep {
  struct Result {
    DType dtype;
    int output = -1;  // which output it is; -1: only later steps read it
  };
  ElementLoop loop = nullptr;          // of one result
  ClusterLoop cluster_loop = nullptr;  // instead, of several
  std::vector<int> operands = {};
  std::vector<Result> results = {};
  std::vector<double> constants = {};  // what the loop finds behind its operands
  int section = 1;                     // of a fused op: see fused_steps.h
};

/// How an input of a plan lies; it is broadcast to the shape of the outputs.
struct PieceInput {
  DType dtype;
  Shape shape;
  Strides strides;
};

/// Says that a plan runs block by block.
struct InBlocks {
  int input = -1;          // comes with each block, packed; -1: none does
  bool cuts_rows = false;  // some block is not one run of elements
};

/// Plans once for shapes and strides, then runs many times without allocating.
class ElementwisePlan {
 public:
  static constexpr int kMaxValues = 192, kMaxAxes = 16;

  /// Plans for outputs of this shape, which are packed.
  ElementwisePlan(const Shape& shape, const std::vector<PieceInput>& inputs,
                  std::vector<PieceStep> steps, InBlocks blocks = {});

  /// Addresses of the first elements of inputs and outputs; only what is used is set.
  struct Operands {
    std::array<const std::byte*, kMaxValues> in;
    std::array<std::byte*, kMaxValues> out;
  };
  /// Computes the outputs, on all threads.
  void run(const Operands& operands) const;
  /// Computes elements [first, last) of the outputs. `scratch` is memory of scratch_bytes().
  void run_range(const Operands& operands, std::int64_t first, std::int64_t last,
                 std::byte* scratch) const;
  /// Computes a block of the outputs; `given` is the block of the input that comes with it.
  void run_block(const Operands& operands, const Block& block, const std::byte* given) const;
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 private:
  // How the loops get at an input.
  enum class Access {
    direct,    // in place: it is packed as the outputs are
    pattern,   // from a buffer, filled once: the same `period` elements over and over
    row,       // in place: it is packed along the last axis, and pieces end where rows end
    block,     // in place: it comes with each block
    gathered,  // from a buffer, filled for every piece
    unused,    // nobody reads it: a number that became part of compiled code
  };
  struct Input {
    Access access = Access::direct;
    std::int64_t element_bytes = 0;
    std::int64_t period = 1;                       // of a pattern, in elements
    std::array<std::int64_t, kMaxAxes> strides{};  // in bytes
    std::size_t buffer = 0;                        // bytes from the start of the scratch memory
  };
  struct Result {
    std::int64_t element_bytes = 0;
    int output = -1;
    std::size_t buffer = 0;  // where there is no output
  };

  void merge_axes(const Shape& shape, const std::vector<PieceInput>& inputs);
  void choose_piece(const std::vector<PieceInput>& inputs);
  void choose_access();
  void place_buffers();
  std::int64_t packed_period(const Input& input) const;
  std::int64_t offset(const Input& input, std::int64_t position) const;
  template <class Element>
  void gather(const Input& input, const std::byte* from, std::int64_t first, std::int64_t size,
              std::byte* buffer) const;
  void fill(const Input& input, const std::byte* from, std::int64_t first, std::int64_t size,
            std::byte* buffer) const;
  void fill_pattern(const Input& input, const std::byte* from, std::int64_t first,
                    std::int64_t size, std::byte* buffer) const;
  void run_part(const Operands& operands, const Block& part, const std::byte* given,
                std::byte* scratch) const;
  void run_steps(const std::byte** values, const Operands& operands, std::byte* scratch,
                 std::int64_t first, std::int64_t size) const;

  std::vector<PieceStep> steps_;
  std::vector<Input> inputs_;
  std::vector<Result> results_;  // of all steps
  std::array<std::int64_t, kMaxAxes> sizes_{};
  std::size_t num_axes_ = 1;
  std::int64_t count_;
  InBlocks blocks_;
  std::int64_t most_ = 0;   // elements that buffers have room for
  std::int64_t piece_ = 0;  // most elements per call of a loop
  std::int64_t grain_ = 0;  // elements per range
  std::size_t scratch_bytes_ = 0;
  bool by_rows_ = false;  // pieces end where rows end
};

}  // namespace antichain::cpu
