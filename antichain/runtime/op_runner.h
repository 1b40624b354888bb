// OpRunner: one op with its kernel, ready to run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/kernel_table.h"
#include "antichain/runtime/run_observer.h"

namespace antichain {

class Program;  // antichain/runtime/program.h

/// What the ops of one run share.
struct RunContext {
  const Backend* backend = nullptr;
  DimEnv env = {};
  StateStore* states = nullptr;
  const PrintLine* print_line = nullptr;
  std::span<RunObserver* const> observers = {};
  int lanes = 1;          // how many steps may run at the same time
  bool parallel = false;  // whether a device may run recorded steps at the same time
};

/// Writes a line to standard output at once: where `print` writes unless told otherwise.
void print_to_stdout(std::string_view line);

class OpRunner {
 public:
  /// Chooses a kernel and compiles the op's regions.
  OpRunner(Op op, const KernelTable& kernels, const Logger& logger);
  OpRunner(OpRunner&&) noexcept;
  ~OpRunner();

  Op op() const { return op_; }
  const std::string& where() const { return where_; }
  const Kernel& kernel() const { return kernel_; }
  /// Returns whether the kernel is the op's reference.
  bool by_reference() const { return by_reference_; }
  /// Returns whether the kernel works on host memory, whatever the backend.
  bool on_host() const { return by_reference_ && !op_.def().on_any_device; }
  std::span<const Program> regions() const;
  /// Returns which outputs are inputs worked on.
  std::span<const WorkedOn> works_on() const { return works_on_; }
  /// Returns whether an output is computed: ops with regions leave out what nobody wants.
  bool makes(std::size_t output, bool wanted) const;

  /// Throws ShapeError when sizes that had to be equal are not.
  void check_constraints(const DimEnv& env) const;
  /// Returns what the kernel sees, apart from inputs, outputs and regions.
  KernelContext context(RunContext& shared, std::span<const std::uint8_t> wanted,
                        std::any& memory) const;
  /// Calls the kernel, and the observers if there are any.
  void compute(const KernelFunction& kernel, KernelContext& context, RunContext& shared) const;

  /// Computes the outputs into memory of their own, whatever the sizes; slower than a Frame, which
  /// has everything prepared. `wanted` says which outputs have a reader. Learns the sizes that the
  /// op finds out.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs,
                          std::span<const std::uint8_t> wanted, RunContext& shared,
                          const RunRegion& run_region) const;
  /// The same, with the regions made ready for this run alone.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs,
                          std::span<const std::uint8_t> wanted, RunContext& shared) const;

 private:
  Op op_;
  std::string where_;
  Kernel kernel_;
  bool by_reference_;
  std::vector<Program> regions_;
  std::vector<WorkedOn> works_on_;
};

/// Returns a packed value where a kernel wants it: the value itself if it can be.
Tensor placed(const Tensor& value, bool on_host, const Backend& backend);

}  // namespace antichain
