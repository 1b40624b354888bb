// Runs the kernels of the CPU backend one by one, without a session, on inputs of any strides.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/runtime/backend.h"

namespace antichain::cpu {

/// One use of an op on concrete inputs.
class KernelTrial {
 public:
  using Build = std::function<std::vector<Var>(Graph&, std::span<const Var>)>;
  using BuildOne = std::function<Var(std::span<const Var>)>;
  /// Builds the op; `build` returns its outputs.
  KernelTrial(std::vector<Tensor> inputs, const Build& build);
  KernelTrial(std::vector<Tensor> inputs, const BuildOne& build);

  Op op() const { return op_; }

  /// Returns the kernels of the CPU backend that support the op.
  std::vector<Kernel> kernels() const;
  /// Runs a kernel and returns its outputs. Runs it twice, since what it keeps between runs must
  /// not change what it computes.
  std::vector<Tensor> run(const Kernel& kernel) const;
  std::vector<Tensor> run_reference() const;

  /// Expects every kernel to agree with the reference, bit by bit when the tolerance is 0; returns
  /// how many there were.
  int expect_kernels_agree(double tolerance, const std::string& what) const;
  /// Expects every kernel to give the same bits for any number of threads.
  void expect_same_bits_on_any_threads(const std::string& what) const;

 private:
  std::vector<Tensor> run(const Kernel& kernel, std::span<const Tensor> inputs) const;

  Graph graph_;
  std::vector<Tensor> inputs_;
  Op op_;
};

/// A use of one op on given inputs.
struct KernelCase {
  const OpDef& def;
  std::vector<Tensor> inputs;
  KernelTrial::Build build;
};

/// Expects every kernel of the op that supports the case to give the reference's values within
/// `tolerance` (0: its bits), and the same bits on any number of threads. Returns how many did;
/// none when `build` found nothing to do, as for a transpose that changes nothing.
int expect_kernels_agree(const KernelCase& use, double tolerance, const std::string& what);

/// Returns what a kernel may differ by from a reference that reduces up to `count` elements. As in
/// the conformance suite; but in f64 the reference rounds at every element, too, which adds up like
/// a random walk.
double tolerance_of(DType dtype, std::int64_t count);

}  // namespace antichain::cpu
