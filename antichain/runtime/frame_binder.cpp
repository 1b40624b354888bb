#include "antichain/runtime/frame_binder.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace antichain {

namespace {

// Makes room for sizes that an op finds out. Steps may do so at the same time, and an environment
// that grows then would move what others read.
void make_room_for_sizes(Op op, DimEnv& env) {
  constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();  // as DimEnv has it
  for (const std::uint32_t symbol : op.graph().found_sizes(op)) {
    if (!env.is_bound(symbol)) {
      env.bind(symbol, kNoValue);
    }
  }
}

// Values up to this size that depend on sizes alone are computed once and kept.
constexpr std::size_t kFixedBytes = 4096;

}  // namespace

FrameBinder::FrameBinder(Frame& frame)
    : frame_(frame),
      program_(frame.program_),
      shared_(frame.shared_),
      unbacked_(unbacked_buffer(frame.shared_.backend->device())) {}

void FrameBinder::bind() {
  frame_.values_.resize(program_.num_slots());
  frame_.storage_.resize(program_.num_slots());
  for (Slot slot = 0; slot < frame_.storage_.size(); ++slot) {
    frame_.storage_[slot].root = slot;
  }
  lay_out_params();
  for (const Program::Step& step : program_.steps()) {
    lay_out_step(step);
  }
  choose_targets();
  find_parallel_steps();
  find_last_uses();
  reuse_inputs();
  assign_memory();
  for (const auto& bound : frame_.steps_) {
    plan_kernel(*bound);
  }
  plan_release();
  frame_.let_go();
}

Tensor FrameBinder::layout(Slot slot) const {
  const Var value = program_.value(slot);
  Shape shape = evaluate(value.shape(), shared_.env);
  Strides strides = contiguous_strides(shape);
  return Tensor(value.dtype(), std::move(shape), std::move(strides), 0, unbacked_);
}

void FrameBinder::lay_out_params() {
  for (Slot slot : program_.params()) {
    if (is_bound(program_.value(slot).shape(), shared_.env)) {
      frame_.values_[slot] = layout(slot);
      frame_.storage_[slot].home = Home::given;
    }
  }
}

void FrameBinder::lay_out_step(const Program::Step& step) {
  make_room_for_sizes(step.runner.op(), shared_.env);
  if (!is_late(step)) {
    step.runner.check_constraints(shared_.env);
    if (is_fixed(step)) {
      compute_fixed(step);
      return;
    }
  }
  auto bound = std::make_unique<BoundStep>();
  bound->step = &step;
  connect(*bound);
  for (const Program& region : step.runner.regions()) {
    bound->regions.push_back(std::make_unique<Frame>(region, shared_, Frame::Role::body));
  }
  if (is_late(step)) {
    bound->kind = BoundStep::Kind::late;
  } else if (lay_out_view(*bound)) {
    bound->kind = BoundStep::Kind::view;
  } else {
    lay_out_outputs(*bound);
  }
  const bool nothing_to_do =
      bound->kind == BoundStep::Kind::view && frame_.storage_[step.outputs[0]].home == Home::fixed;
  if (!nothing_to_do) {
    frame_.steps_.push_back(std::move(bound));
  }
}

// Whether sizes are missing that only the run finds out.
bool FrameBinder::is_late(const Program::Step& step) const {
  const Op op = step.runner.op();
  const DimEnv& env = shared_.env;
  const auto unknown = [this](Slot slot) { return frame_.storage_[slot].home == Home::late; };
  if (op.def().shape_from_data || std::ranges::any_of(step.inputs, unknown)) {
    return true;
  }
  for (const DimConstraint& constraint : op.graph().constraints(op)) {
    if (!constraint.left.is_bound(env) || !constraint.right.is_bound(env)) {
      return true;
    }
  }
  for (const Attrs::Entry& entry : op.attrs().entries()) {
    if (!is_bound(entry.second, env)) {
      return true;
    }
  }
  return std::ranges::any_of(
      step.outputs, [&](Slot slot) { return !is_bound(program_.value(slot).shape(), env); });
}

bool FrameBinder::is_fixed(const Program::Step& step) const {
  const Op op = step.runner.op();
  if (op.def().effect != Effect::none || !op.regions().empty() ||
      std::ranges::any_of(
          step.inputs, [this](Slot slot) { return frame_.storage_[slot].home != Home::fixed; })) {
    return false;
  }
  std::size_t bytes = 0;
  for (Slot slot : step.outputs) {
    const Var value = program_.value(slot);
    bytes += packed_bytes(evaluate(value.shape(), shared_.env), size_of(value.dtype()));
  }
  return op.def().forwards || bytes <= kFixedBytes;  // what is forwarded takes no memory
}

void FrameBinder::compute_fixed(const Program::Step& step) {
  std::vector<const Tensor*> inputs;
  for (Slot slot : step.inputs) {
    inputs.push_back(&frame_.values_[slot]);
  }
  std::vector<Tensor> outputs = step.runner.run(inputs, step.wanted, shared_);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    frame_.values_[step.outputs[i]] = placed(outputs[i], false, *shared_.backend);
    frame_.storage_[step.outputs[i]].home = Home::fixed;
  }
}

bool FrameBinder::lay_out_view(BoundStep& bound) {
  const Program::Step& step = *bound.step;
  const OpDef& def = step.runner.op().def();
  if (!def.view) {
    return false;
  }
  const Slot in = step.inputs[0], out = step.outputs[0];
  frame_.values_[out] = layout(out);
  KernelContext context = step.runner.context(shared_, step.wanted, bound.memory);
  context.inputs = bound.inputs;
  context.outputs = bound.outputs;
  Tensor view = def.view(context);
  if (!view.defined() || !(view.is_contiguous() || program_.takes_strides(out))) {
    return false;
  }
  frame_.storage_[out] = {frame_.storage_[in].home, frame_.storage_[in].root, view.offset()};
  if (frame_.storage_[in].home == Home::fixed) {
    frame_.storage_[out] = {Home::fixed, out, 0};
  }
  frame_.values_[out] = std::move(view);
  return true;
}

void FrameBinder::lay_out_outputs(BoundStep& bound) {
  const Program::Step& step = *bound.step;
  const Op op = step.runner.op();
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const Slot slot = step.outputs[i];
    if (step.runner.makes(i, step.wanted[i])) {
      frame_.values_[slot] = layout(slot);
      frame_.storage_[slot].home = op.def().forwards ? Home::forwarded : Home::planned;
    }
  }
}

void FrameBinder::connect(BoundStep& bound) {
  for (Slot slot : bound.step->inputs) {
    bound.inputs.push_back(&frame_.values_[slot]);
  }
  for (Slot slot : bound.step->outputs) {
    bound.outputs.push_back(&frame_.values_[slot]);
  }
  bound.context = bound.step->runner.context(shared_, bound.step->wanted, bound.memory);
  bound.context.inputs = bound.inputs;
  bound.context.outputs = bound.outputs;
  if (!bound.step->runner.regions().empty()) {
    bound.context.run_region = [frame = &frame_, step = &bound](
                                   int region, std::span<const Tensor* const> arguments,
                                   std::span<Tensor* const> results) {
      frame->run_region(*step, region, arguments, results);
    };
  }
}

void FrameBinder::plan_kernel(BoundStep& bound) {
  if (bound.kind != BoundStep::Kind::kernel) {
    return;
  }
  const OpRunner& runner = bound.step->runner;
  if (runner.on_host() && shared_.backend->device() != Device{}) {
    bound.host_inputs.resize(bound.inputs.size());
    bound.host_outputs.resize(bound.outputs.size());
    for (Tensor& tensor : bound.host_inputs) {
      bound.host_input_pointers.push_back(&tensor);
    }
    for (Tensor& tensor : bound.host_outputs) {
      bound.host_output_pointers.push_back(&tensor);
    }
    bound.context.inputs = bound.host_input_pointers;
    bound.context.outputs = bound.host_output_pointers;
  }
  bound.compute = runner.kernel().plan ? runner.kernel().plan(bound.context) : runner.kernel().run;
}

}  // namespace antichain
