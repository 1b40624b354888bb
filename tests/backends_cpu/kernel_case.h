// Random uses of ops, and the check that every kernel of the CPU must pass on them.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/op_def.h"
#include "antichain/tensor/tensor.h"

namespace antichain::cpu {

/// A use of one op on given inputs.
struct KernelCase {
  const OpDef& def;
  std::vector<Tensor> inputs;
  std::function<std::vector<Var>(Graph&, std::span<const Var>)> build;
};

/// Expects every kernel of the op that supports the case to give the reference's values within
/// `tolerance` (0: its bits), and the same bits on any number of threads. Returns how many did.
int expect_kernels_agree(const KernelCase& use, double tolerance, const std::string& what);

/// Returns what a kernel may differ by from a reference that reduces up to `count` elements. As in
/// the conformance suite; but in f64 the reference rounds at every element, too, which adds up like
/// a random walk.
double tolerance_of(DType dtype, std::int64_t count);

/// Draws shapes and values.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  /// Returns a size: mostly small, odd or prime, at times 0, 1 or large.
  std::int64_t size();
  /// Returns a shape of this rank with at most `max_elements`.
  Shape shape(std::int64_t rank, std::int64_t max_elements);
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[between(0, static_cast<std::int64_t>(choices.size()) - 1)];
  }
  /// Returns values in [low, high], integers for integer types.
  Tensor values(DType dtype, const Shape& shape, double low = -2, double high = 2);
  /// Returns indices in [0, size), i32 or i64.
  Tensor indices(const Shape& shape, std::int64_t size);

 private:
  std::mt19937_64 generator_;
};

}  // namespace antichain::cpu
