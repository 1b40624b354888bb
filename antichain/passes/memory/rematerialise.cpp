#include "antichain/passes/memory/rematerialise.h"

#include <unordered_map>

#include "antichain/graph/structural_ops.h"

namespace antichain {

namespace {

class Rematerialiser {
 public:
  explicit Rematerialiser(const GraphCopy& program)
      : program_(program),
        copy_(copy_of_states(*program.graph)),
        cloner_(*program.graph, *copy_.graph, [this](Op twin) {
          last_twin_ = twin;
          return twin.outputs();
        }) {
    for (Op input : program.graph->inputs()) {
      run(input);
    }
  }

  // The first time an op is copied as it is, with what it waits for; later only to have its values
  // again.
  void run(Op op) {
    const auto known = twins_.find(op.id());
    if (known == twins_.end()) {
      cloner_.copy(op);
      twins_[op.id()] = last_twin_;
      for (int i = 0; i < op.num_outputs(); ++i) {
        first_[op.output(i).id()] = cloner_(op.output(i));
      }
      return;
    }
    if (op.def().effect != Effect::none || op.def().shape_from_data || op.def().forwards ||
        &op.def() == &input_def()) {
      return;
    }
    const std::span<const RegionId> regions = known->second.regions();
    const Op again =
        copy_.graph->add(op.def(), cloner_(op.inputs()), known->second.attrs(),
                         {regions.begin(), regions.end()}, op.location(), Sharing::none);
    for (int i = 0; i < op.num_outputs(); ++i) {
      cloner_.map(op.output(i), again.output(i));
    }
  }

  GraphCopy finish() {
    for (Var value : program_.values) {
      copy_.values.push_back(first_.at(value.id()));
    }
    for (Op op : program_.ops) {
      copy_.ops.push_back(twins_.at(op.id()));
    }
    return std::move(copy_);
  }

 private:
  const GraphCopy& program_;
  GraphCopy copy_;
  Op last_twin_;
  Cloner cloner_;
  std::unordered_map<OpId, Op> twins_;    // the first copy of each op
  std::unordered_map<VarId, Var> first_;  // and of each value: what the caller gets
};

}  // namespace

GraphCopy rematerialise(const GraphCopy& program, const StagedProgram& stages,
                        std::span<const StageAction> actions) {
  Rematerialiser copier(program);
  for (const StageAction& action : actions) {
    const auto& ops = action.kind == StageAction::Kind::backward ? stages.backward : stages.forward;
    for (Op op : ops[action.stage]) {
      copier.run(op);
    }
  }
  return copier.finish();
}

}  // namespace antichain
