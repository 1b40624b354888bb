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
struct RunState {
  const Backend* backend = nullptr;
  DimEnv env;
  StateStore* states = nullptr;
  std::function<void(std::string_view line)> print_line;
  std::vector<RunObserver*> observers;
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
  const Kernel& kernel() const { return kernel_; }
  std::span<const Program> regions() const;
  /// Computes the outputs. `wanted` says which of them have a reader. Learns the sizes that the op
  /// finds out.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const std::uint8_t> wanted,
                          RunState& state) const;

 private:
  Op op_;
  std::string where_;
  Kernel kernel_;
  bool on_host_;  // the kernel wants host memory
  std::vector<Program> regions_;
};

}  // namespace antichain
