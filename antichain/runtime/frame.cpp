#include "antichain/runtime/frame.h"

#include <algorithm>

#include "antichain/runtime/frame_binder.h"

namespace antichain {

namespace {

bool lies_on(const Tensor& tensor, const Backend& backend) {
  return tensor.defined() && tensor.device() == backend.device() && tensor.is_contiguous();
}

}  // namespace

Frame::Frame(const Program& program, RunContext& shared, Role role)
    : program_(program), shared_(shared), role_(role) {
  const auto held = shared.backend->hold();
  FrameBinder(*this).bind();
  is_recordable_ = role == Role::whole && shared.backend->records() && can_be_recorded();
}

Frame::~Frame() = default;

void Frame::allocate_memory() {
  const auto bytes = static_cast<std::int64_t>(memory_bytes());
  set_memory(shared_.backend->allocate(DType::u8, {bytes}).buffer(), 0);
}

std::size_t Frame::argument_bytes() const {
  std::size_t bytes = 0;
  for (const Tensor& own : own_arguments_) {
    bytes += own.defined() ? own.bytes() : 0;
  }
  return bytes;
}

void Frame::set_memory(const std::shared_ptr<Buffer>& buffer, std::size_t offset) {
  memory_ = buffer;
  for (Slot slot = 0; slot < values_.size(); ++slot) {
    const Storage& storage = storage_[slot];
    if (storage.home == Home::planned) {
      const std::size_t bytes = offset + plan_.offsets[planned_at_[storage.root]];
      values_[slot].rebase(
          buffer,
          static_cast<std::int64_t>(bytes / size_of(values_[slot].dtype())) + storage.shift);
    }
  }
  for (const auto& step : steps_) {
    if (!step->workspace_at) {
      continue;
    }
    const std::size_t at = offset + plan_.offsets[*step->workspace_at];
    if (step->workspace.defined() && step->workspace.device() == buffer->device()) {
      step->workspace.rebase(buffer, static_cast<std::int64_t>(at));
    }
    for (std::size_t i = 0; i < step->regions.size(); ++i) {
      step->regions[i]->set_memory(buffer, at + step->region_starts[i]);
    }
  }
}

void Frame::run(std::span<const Tensor* const> arguments, std::span<Tensor* const> results,
                std::vector<SentResult>* sent) {
  struct LetGo {  // also when a kernel throws
    Frame& frame;
    ~LetGo() { frame.let_go(); }
  } const at_the_end{*this};
  take_arguments(arguments);
  take_targets(results);
  if (is_recordable_ && shared_.observers.empty()) {
    run_recorded();
  } else {
    run_steps();
  }
  give_results(results, sent);
}

void Frame::run_steps() {
  const bool watched = !shared_.observers.empty();  // step by step
  std::size_t n = 0;
  for (const Section& section : watched ? std::span<const Section>() : sections_) {
    for (; n < section.first; ++n) {
      run_step(*steps_[n]);
    }
    shared_.backend->run_lanes(static_cast<int>(section.lanes.size()), [&](int lane) {
      for (const std::size_t step : section.lanes[static_cast<std::size_t>(lane)]) {
        run_step(*steps_[step]);
      }
    });
    n = section.last;
  }
  for (; n < steps_.size(); ++n) {
    run_step(*steps_[n]);
  }
}

void Frame::take_arguments(std::span<const Tensor* const> arguments) {
  const std::span<const Slot> params = program_.params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& argument = *arguments[i];
    Tensor& value = values_[params[i]];
    if (!argument.defined()) {
      continue;  // nobody reads it
    }
    if (storage_[params[i]].home == Home::late) {
      value = placed(argument, false, *shared_.backend);
    } else if (lies_on(argument, *shared_.backend)) {
      value.rebase(argument.buffer(), argument.offset());
    } else {
      own_arguments_.resize(params.size());
      Tensor& own = own_arguments_[i];
      if (!own.defined()) {
        own = shared_.backend->allocate(value.dtype(), value.shape());
      }
      shared_.backend->copy(own, argument.device() == Device{}
                                     ? argument.contiguous()
                                     : placed(argument, false, *shared_.backend));
      value.rebase(own.buffer(), own.offset());
    }
  }
}

void Frame::take_targets(std::span<Tensor* const> results) {
  for (Target& target : targets_) {
    Tensor& value = values_[target.slot];
    Tensor* const result = results[target.result];
    if (result != nullptr && lies_on(*result, *shared_.backend)) {
      value.rebase(result->buffer(), result->offset());
    } else if (result != nullptr && !result->defined()) {
      *result = shared_.backend->allocate(value.dtype(), value.shape());
      value.rebase(result->buffer(), result->offset());
    } else {
      if (!target.spare.defined()) {
        target.spare = shared_.backend->allocate(value.dtype(), value.shape());
      }
      value.rebase(target.spare.buffer(), target.spare.offset());
    }
    for (Slot lodger : target.lodgers) {
      values_[lodger].rebase(value.buffer(), value.offset() + storage_[lodger].shift);
    }
  }
}

void Frame::run_step(BoundStep& step) {
  switch (step.kind) {
    case BoundStep::Kind::kernel:
      if (step.host_input_pointers.empty() && step.host_output_pointers.empty()) {
        step.step->runner.compute(step.compute, step.context, shared_);
      } else {
        run_on_host(step);
      }
      break;
    case BoundStep::Kind::view: {
      const Slot out = step.step->outputs[0], in = step.step->inputs[0];
      values_[out].rebase(values_[in].buffer(),
                          values_[in].offset() + storage_[out].shift - storage_[in].shift);
      break;
    }
    case BoundStep::Kind::late: run_late(step); break;
  }
  for (Slot slot : step.release) {
    values_[slot].drop_memory();
  }
}

// The context of such a step already points at the host copies.
void Frame::run_on_host(BoundStep& step) {
  const Backend& backend = *shared_.backend;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    step.host_inputs[i] = backend.to_host(*step.inputs[i]);
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    // Kernels that set their outputs may have left something there.
    Tensor& output = step.host_outputs[i];
    output = step.outputs[i]->defined()
                 ? Tensor::empty(step.outputs[i]->dtype(), step.outputs[i]->shape())
                 : Tensor();
  }
  step.step->runner.compute(step.compute, step.context, shared_);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i]->defined()) {
      backend.copy(*step.outputs[i], step.host_outputs[i]);
    } else if (step.host_outputs[i].defined()) {
      *step.outputs[i] = backend.to_device(step.host_outputs[i]);
    }
  }
}

void Frame::run_late(BoundStep& step) {
  std::vector<Tensor> outputs =
      step.step->runner.run(step.inputs, step.step->wanted, shared_, step.context.run_region);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    *step.outputs[i] = std::move(outputs[i]);
  }
}

void Frame::run_region(BoundStep& step, int region, std::span<const Tensor* const> arguments,
                       std::span<Tensor* const> results) {
  step.regions[static_cast<std::size_t>(region)]->run(arguments, results);
}

void Frame::give_results(std::span<Tensor* const> results, std::vector<SentResult>* sent) {
  const Backend& backend = *shared_.backend;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor& value = values_[program_.results()[i]];
    Tensor* const result = results[i];
    if (result == nullptr ||
        (result->defined() && result->buffer() == value.buffer() &&
         result->offset() == value.offset() && result->numel() == value.numel())) {
      continue;  // not wanted, or there already
    }
    if (result->defined()) {
      std::shared_ptr<Arrival> arrival =
          sent != nullptr && result->device() == Device{} ? backend.send_to_host(value) : nullptr;
      if (arrival != nullptr) {
        sent->push_back({i, std::move(arrival)});
      } else {
        backend.copy(*result, value);
      }
    } else if (const Home home = storage_[program_.results()[i]].home;
               home == Home::planned || home == Home::fixed ||
               (home == Home::given && role_ == Role::whole) || value.buffer() == memory_) {
      *result = backend.clone(value);
    } else {
      *result = value;
    }
  }
}

void Frame::let_go() {
  for (Slot slot : held_) {
    values_[slot].drop_memory();
  }
}

}  // namespace antichain
