#include "antichain/session/eager.h"

#include <unordered_map>

#include "antichain/graph/evaluator.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/runtime/op_runner.h"

namespace antichain {

namespace {

std::vector<Var> forward_by_engines(Op op) {
  const EngineSet* const engines = op.graph().engines().get();
  return engines ? engines->forward(op, {.keeps_reports = true}) : op.outputs();
}

}  // namespace

class Eager::Tape final : public Evaluator {
 public:
  explicit Tape(Session& session) : session_(session), session_lives_(session.lifetime()) {
    shared_.backend = &session.backend();
    shared_.states = &session.states();
    shared_.print_line = &print_line_;
  }

  void enter(Tensor value) { entering_ = std::move(value); }

  void evaluate(Op op) override {
    if (op.num_outputs() > 0 && values_.contains(op.output().id())) {
      return;
    }
    if (&op.def() == &input_def()) {
      values_[op.output().id()] = entering_;
      return;
    }
    require(!session_lives_.expired(),
            "{} cannot be computed: the session of this eager mode is gone; keep it for as long as "
            "anything is computed",
            op);
    std::vector<const Tensor*> inputs;
    for (Var input : op.inputs()) {
      inputs.push_back(&value(input));
    }
    const bool apart = session_.takes_apart(op);
    const std::vector<Var> parts = apart ? op.def().decompose(op) : forward_by_engines(op);
    if (parts != op.outputs()) {
      for (int i = 0; i < op.num_outputs(); ++i) {
        values_[op.output(i).id()] = value(parts[static_cast<std::size_t>(i)]);
      }
      return;
    }
    session_.initialise_states_of(op);
    const std::vector<std::uint8_t> wanted(static_cast<std::size_t>(op.num_outputs()), 1);
    std::vector<Tensor> outputs =
        OpRunner(op, session_.backend().kernels(), session_.logger()).run(inputs, wanted, shared_);
    for (int i = 0; i < op.num_outputs(); ++i) {
      Tensor& output = outputs[static_cast<std::size_t>(i)];
      // Sizes that the op has found out are known from here on.
      op.graph().refine_shape(op.output(i), to_dims(output.shape()));
      values_[op.output(i).id()] = session_.backend().to_host(output);
    }
  }

  const Tensor& value(Var var) const override {
    const auto found = values_.find(var.id());
    require(found != values_.end(),
            "{} has no value: computing it failed, or it is inside a region", var.name());
    return found->second;
  }

 private:
  Session& session_;
  std::weak_ptr<const bool> session_lives_;
  PrintLine print_line_ = print_to_stdout;
  RunContext shared_;
  Tensor entering_;
  std::unordered_map<VarId, Tensor> values_;
};

Eager::Eager(Session& session) : graph_(session.graph()), tape_(std::make_shared<Tape>(session)) {
  graph_.set_evaluator(tape_);
}

Eager::~Eager() = default;

Var Eager::operator()(const Tensor& value) {
  require(value.defined(), "eager: there is no tensor to enter");
  tape_->enter(value);
  const std::vector<DimSpec> shape(value.shape().begin(), value.shape().end());
  return graph_.input("eager#" + std::to_string(graph_.inputs().size()), value.dtype(), shape);
}

Executable record(Session& session, const std::vector<InputSpec>& inputs,
                  const std::function<std::vector<Var>(const std::vector<Var>&)>& function) {
  Graph graph = session.graph();
  std::vector<Var> variables;
  for (const InputSpec& input : inputs) {
    variables.push_back(graph.input(input.name, input.dtype, input.shape));
  }
  return session.compile(function(variables));
}

}  // namespace antichain
