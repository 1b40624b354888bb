// A region as a list of steps: kernels chosen, values numbered, the last use of each value known.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/runtime/op_runner.h"

namespace antichain {

class Program {
 public:
  /// Compiles the ops that `results` and `effects` need. `params` are the values given at every
  /// run.
  Program(Graph& graph, std::span<const Var> params, std::span<const Var> results,
          std::span<const Op> effects, const KernelTable& kernels, const Logger& logger);

  /// Runs the steps on `arguments`, one per parameter, and returns the results.
  std::vector<Tensor> run(std::span<const Tensor> arguments, RunState& state) const;

  /// Returns how many ops run, those of inner regions included once.
  std::size_t num_steps() const;

 private:
  using Slot = std::uint32_t;
  struct Step {
    OpRunner runner;
    std::vector<Slot> inputs = {}, outputs = {};
    std::vector<std::uint8_t> wanted = {};  // per output: somebody reads it
    std::vector<Slot> last_used = {};       // values that nobody needs after this step
  };

  Step make_step(Op op, const KernelTable& kernels, const Logger& logger);
  Slot slot_of(Var value);
  void plan_release();
  static void run_step(const Step& step, std::vector<Tensor>& values, RunState& state);

  std::unordered_map<VarId, Slot> slots_;
  std::vector<Slot> params_, results_;
  std::vector<Step> steps_;
};

}  // namespace antichain
