// How an element-wise op walks its operands: an output that is packed, inputs that are any views
// broadcast to it, loops that take packed pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// Plans once for shapes and strides, then runs many times without allocating.
class ElementwisePlan {
 public:
  static constexpr int kMaxInputs = 3, kMaxAxes = 16;

  /// `constants`, if any, is what the loop finds behind the inputs.
  ElementwisePlan(const KernelContext& context, int num_inputs, ElementLoop loop,
                  std::span<const double> constants);

  /// Computes the output.
  void run(const KernelContext& context) const;

 private:
  // How the loop gets at an input.
  enum class Access {
    direct,   // in place: it is packed as the output is
    pattern,  // from a buffer, filled once: the same `period` elements over and over
    row,      // in place: it is packed along the last axis, and pieces end where rows end
    walk,     // from a buffer, filled for every piece
  };
  struct Input {
    Access access = Access::direct;
    std::int64_t element_bytes = 0;
    std::int64_t period = 1;                       // of a pattern, in elements
    std::array<std::int64_t, kMaxAxes> strides{};  // in bytes
  };
  struct Operands {  // addresses of first elements; constants come behind the inputs
    std::array<const std::byte*, kMaxInputs + 1> in;
    std::byte* out;
  };

  void merge_axes(const KernelContext& context);
  void choose_access();
  std::int64_t packed_period(const Input& input) const;
  std::int64_t offset(const Input& input, std::int64_t position) const;
  template <class Element>
  void gather(const Input& input, const std::byte* from, std::int64_t first, std::int64_t size,
              std::byte* buffer) const;
  void fill(const Input& input, const std::byte* from, std::int64_t first, std::int64_t size,
            std::byte* buffer) const;
  void run_range(const Operands& operands, std::int64_t first, std::int64_t last) const;
  void run_pieces(const Operands& operands, std::int64_t first, std::int64_t last) const;

  std::span<const Input> inputs() const {
    return {inputs_.data(), static_cast<std::size_t>(num_inputs_)};
  }

  ElementLoop loop_;
  int num_inputs_;
  std::array<Input, kMaxInputs> inputs_;
  std::array<double, 2> constants_{};
  std::array<std::int64_t, kMaxAxes> sizes_{};
  std::size_t num_axes_ = 1;
  std::int64_t out_bytes_;  // of one element
  std::int64_t count_;
  std::int64_t piece_ = 0;  // most elements per call of the loop
  std::int64_t grain_ = 0;  // elements per range
  bool all_direct_ = true;
  bool by_rows_ = false;  // pieces end where rows end
};

}  // namespace antichain::cpu
