// Runs the kernels of the CPU backend one by one, without a session, on inputs of any strides.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/runtime/backend.h"

namespace antichain::cpu {

/// One use of an op on concrete inputs.
class KernelTrial {
 public:
  using Build = std::function<Var(std::span<const Var>)>;
  KernelTrial(std::vector<Tensor> inputs, const Build& build);

  /// Returns the kernels of the CPU backend that support the op.
  std::vector<Kernel> kernels() const;
  /// Runs a kernel and returns its outputs. Runs it twice, since what it keeps between runs must
  /// not change what it computes.
  std::vector<Tensor> run(const Kernel& kernel) const;
  std::vector<Tensor> run_reference() const;

  /// Expects every kernel to agree with the reference; returns how many there were.
  int expect_kernels_agree(double tolerance, const std::string& what) const;
  /// Expects every kernel to give the same bits for any number of threads.
  void expect_same_bits_on_any_threads(const std::string& what) const;

 private:
  std::vector<Tensor> run(const Kernel& kernel, std::span<const Tensor> inputs) const;

  Graph graph_;
  std::vector<Tensor> inputs_;
  Op op_;
};

/// Draws sizes and values; the same for the same seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : generator_(seed) {}
  std::int64_t one_of(std::span<const std::int64_t> values);
  std::int64_t between(std::int64_t first, std::int64_t last);
  bool coin() { return between(0, 1) == 1; }
  /// Returns a packed tensor; floats from [-2, 2], integers from the whole range of a byte.
  Tensor tensor(DType dtype, const Shape& shape);
  /// Returns such a tensor as a view: transposed, sliced, reversed or repeated.
  Tensor view(DType dtype, const Shape& shape);

 private:
  std::mt19937 generator_;
};

}  // namespace antichain::cpu
