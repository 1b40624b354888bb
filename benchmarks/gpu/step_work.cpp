#include "benchmarks/gpu/step_work.h"

#include <set>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/op_cost.h"

namespace antichain::bench {

namespace {

double bytes_of(const VarType& type) {
  return static_cast<double>(numel(type.shape).constant()) *
         static_cast<double>(size_of(type.dtype));
}

// The names of the states that a step touches.
struct Touched {
  std::set<std::string> read, written;

  void add(Op op) {
    for (const std::string& name : op.states()) {
      if (op.def().effect == Effect::writes_state) {
        written.insert(name);
      }
      if (&op.def() != &assign_def()) {  // all others look at what they change
        read.insert(name);
      }
    }
  }
};

}  // namespace

StepWork work_of(const TrainingStep& step) {
  Graph& graph = step.executable.graph();
  StepWork work;
  Touched states;
  for (const OpId id : graph.region(kRootRegion).ops) {
    for_each_work(graph.op(id), {}, [&](const OpWork& part) {
      if (part.flops > 0) {
        work.flops[std::string(name(part.op.input(0).dtype()))] += part.times * part.flops;
      }
      states.add(part.op);
      if (&part.op.def() == &constant_def()) {
        work.bytes += bytes_of(part.op.output().type());
      }
    });
  }
  for (const auto& feed : step.feeds) {
    work.bytes += static_cast<double>(feed.second.bytes());
  }
  for (const std::set<std::string>* names : {&states.read, &states.written}) {
    for (const std::string& name : *names) {
      work.bytes += bytes_of(graph.find_state(name)->type);
    }
  }
  states.read.merge(states.written);
  for (const std::string& name : states.read) {
    work.state_bytes += bytes_of(graph.find_state(name)->type);
  }
  return work;
}

}  // namespace antichain::bench
