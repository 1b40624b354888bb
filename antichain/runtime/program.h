// A region as a list of steps: kernels chosen, values numbered, readers known. Independent of
// sizes: a Frame makes it ready for certain sizes and runs it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/graph/id_map.h"
#include "antichain/runtime/op_runner.h"

namespace antichain {

class Program {
 public:
  using Slot = std::uint32_t;  // the number of a value
  struct Step {
    OpRunner runner;
    std::vector<Slot> inputs = {}, outputs = {};
    std::vector<std::uint8_t> wanted = {};  // per output: somebody reads it
  };

  /// Compiles the ops that `results` and `effects` need. `params` are the values given at every
  /// run.
  Program(Graph& graph, std::span<const Var> params, std::span<const Var> results,
          std::span<const Op> effects, const KernelTable& kernels, const Logger& logger);

  std::span<const Step> steps() const { return steps_; }
  std::size_t num_slots() const { return values_.size(); }
  /// Returns the value of a slot, for its type.
  Var value(Slot slot) const { return values_[slot]; }
  std::span<const Slot> params() const { return params_; }
  std::span<const Slot> results() const { return results_; }
  /// Returns whether all readers of a value take views of any strides.
  bool takes_strides(Slot slot) const { return takes_strides_[slot]; }
  /// Returns how many ops run, those of inner regions included once.
  std::size_t num_steps() const;

 private:
  Step make_step(Op op, const KernelTable& kernels, const Logger& logger);
  Slot slot_of(Var value);
  void find_readers();

  static constexpr Slot kNone = ~Slot{0};

  IdMap<VarId, Slot> slots_{kNone};
  std::vector<Var> values_;
  std::vector<bool> takes_strides_;
  std::vector<Slot> params_, results_;
  std::vector<Step> steps_;
};

}  // namespace antichain
