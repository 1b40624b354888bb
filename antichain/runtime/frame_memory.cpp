// How a FrameBinder finds out which values share memory.
#include <algorithm>
#include <numeric>

#include "antichain/runtime/frame_binder.h"

namespace antichain {

// Results that a step computes go straight into the caller's memory, if the device can see it.
void FrameBinder::choose_targets() {
  const std::span<const Slot> results = program_.results();
  const bool in_sight = state_.backend->device() == Device{};
  for (std::size_t i = 0; in_sight && i < results.size(); ++i) {
    Frame::Place& place = frame_.places_[results[i]];
    if (place.home == Home::planned && place.root == results[i]) {
      place.home = Home::target;
      frame_.targets_.push_back({i, results[i], Tensor()});
    }
  }
  // Views were laid out before it was known where their root lies.
  for (Slot slot = 0; slot < frame_.places_.size(); ++slot) {
    Frame::Place& place = frame_.places_[slot];
    place.home = frame_.places_[place.root].home;
  }
  // A view into memory that does not move needs no step.
  std::erase_if(frame_.steps_, [this](const std::unique_ptr<BoundStep>& bound) {
    return bound->kind == BoundStep::Kind::view &&
           frame_.places_[bound->step->outputs[0]].home == Home::planned;
  });
}

void FrameBinder::find_last_uses() {
  last_use_.assign(program_.num_slots(), 0);
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    const Program::Step& step = *frame_.steps_[n]->step;
    for (const std::vector<Slot>* slots : {&step.inputs, &step.outputs}) {
      for (Slot slot : *slots) {
        last_use_[frame_.places_[slot].root] = n;
      }
    }
  }
  for (Slot slot : program_.results()) {
    last_use_[frame_.places_[slot].root] = frame_.steps_.size();
  }
  taken_from_.resize(program_.num_slots());
  std::iota(taken_from_.begin(), taken_from_.end(), Slot{0});
}

Program::Slot FrameBinder::storage_of(Slot slot) const {
  Slot storage = frame_.places_[slot].root;
  while (taken_from_[storage] != storage) {
    storage = taken_from_[storage];
  }
  return storage;
}

bool FrameBinder::may_take_over(const BoundStep& bound, std::size_t n, Slot in, Slot out) const {
  const Tensor &from = frame_.values_[in], &to = frame_.values_[out];
  const Slot storage = storage_of(in);
  if (frame_.places_[in].home != Home::planned || last_use_[storage] != n ||
      frame_.places_[in].shift != 0 || from.dtype() != to.dtype() || from.shape() != to.shape() ||
      !from.is_contiguous() || frame_.values_[storage].bytes() != to.bytes()) {
    return false;
  }
  // Another input in the same memory must see it in the same way.
  return std::ranges::all_of(bound.step->inputs, [&](Slot other) {
    return storage_of(other) != storage || frame_.places_[other].home != Home::planned ||
           (frame_.places_[other].shift == 0 && frame_.values_[other].is_contiguous() &&
            frame_.values_[other].shape() == from.shape());
  });
}

// Whether the op says that an output goes on with an input, and no other input lies there.
bool FrameBinder::works_on(const BoundStep& bound, std::size_t in, std::size_t out) const {
  const std::vector<Slot>& inputs = bound.step->inputs;
  return std::ranges::any_of(bound.step->runner.works_on(),
                             [&](const WorkedOn& pair) {
                               return pair.input == static_cast<int>(in) &&
                                      pair.output == static_cast<int>(out);
                             }) &&
         std::ranges::count_if(
             inputs, [&](Slot other) { return storage_of(other) == storage_of(inputs[in]); }) == 1;
}

void FrameBinder::reuse_inputs() {
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    const BoundStep& bound = *frame_.steps_[n];
    const bool in_place = bound.step->runner.kernel().in_place;
    if (bound.kind != BoundStep::Kind::kernel ||
        (!in_place && bound.step->runner.works_on().empty())) {
      continue;
    }
    const OpRunner& runner = bound.step->runner;
    const std::vector<Slot>&inputs = bound.step->inputs, &outputs = bound.step->outputs;
    // All inputs that lie in a piece of memory must allow that an output is written there.
    const auto overwrites = [&](Slot storage, std::size_t out) {
      for (std::size_t i = 0; runner.kernel().may_overwrite && i < inputs.size(); ++i) {
        if (storage_of(inputs[i]) == storage && frame_.places_[inputs[i]].home == Home::planned &&
            !runner.kernel().may_overwrite(runner.op(), static_cast<int>(out),
                                           static_cast<int>(i))) {
          return false;
        }
      }
      return true;
    };
    std::vector<Slot> taken;
    for (std::size_t out = 0; out < outputs.size(); ++out) {
      for (std::size_t in = 0; in < inputs.size(); ++in) {
        if (frame_.places_[outputs[out]].home != Home::planned ||
            !may_take_over(bound, n, inputs[in], outputs[out]) ||
            !((in_place && overwrites(storage_of(inputs[in]), out)) || works_on(bound, in, out)) ||
            std::ranges::find(taken, storage_of(inputs[in])) != taken.end()) {
          continue;
        }
        const Slot storage = storage_of(inputs[in]);
        taken_from_[outputs[out]] = storage;
        taken.push_back(storage);
        last_use_[storage] = last_use_[outputs[out]];
        break;
      }
    }
  }
}

// What a step and its regions, which do not run at the same time, work in beside its outputs.
std::size_t FrameBinder::workspace_bytes(BoundStep& bound) {
  const OpRunner& runner = bound.step->runner;
  const auto& workspace = runner.op().def().workspace;
  std::size_t bytes = 0;
  bound.region_starts.assign(bound.regions.size(), 0);
  if (bound.kind == BoundStep::Kind::kernel && workspace && runner.on_host()) {
    const WorkspaceSize size = workspace(bound.context);
    const Shape shape = {static_cast<std::int64_t>(size.bytes)};
    bound.context.workspace = &bound.workspace;
    if (state_.backend->device() != Device{}) {  // it works on host copies
      bound.workspace = Tensor::empty(u8, shape);
    } else {
      bound.workspace = Tensor(u8, shape, {1}, 0, unbacked_);
      bytes = aligned(size.bytes);
      for (std::size_t i = 0; i < bound.regions.size(); ++i) {
        bound.region_starts[i] = aligned(size.held.empty() ? size.bytes : size.held[i]);
      }
    }
  }
  for (std::size_t i = 0; i < bound.regions.size(); ++i) {
    bytes = std::max(bytes, bound.region_starts[i] + bound.regions[i]->memory_bytes());
  }
  return bytes;
}

void FrameBinder::place() {
  std::vector<Lifetime>& lifetimes = frame_.lifetimes_;
  frame_.planned_at_.assign(program_.num_slots(), 0);
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    BoundStep& bound = *frame_.steps_[n];
    for (Slot slot : bound.step->outputs) {
      const Frame::Place& at = frame_.places_[slot];
      if (at.home != Home::planned || at.root != slot) {
        continue;
      }
      const Slot storage = storage_of(slot);
      if (storage == slot) {
        frame_.planned_at_[slot] = lifetimes.size();
        lifetimes.push_back({frame_.values_[slot].bytes(), n, last_use_[slot]});
      } else {
        frame_.planned_at_[slot] = frame_.planned_at_[storage];
      }
    }
    if (const std::size_t bytes = workspace_bytes(bound); bytes > 0 || !bound.regions.empty()) {
      bound.workspace_at = lifetimes.size();
      lifetimes.push_back({bytes, n, n});
    }
  }
  frame_.plan_ = plan_memory(lifetimes);
}

// Memory of others is let go after its last use: a state that nobody holds is updated in place.
void FrameBinder::plan_release() {
  for (Slot slot = 0; slot < frame_.places_.size(); ++slot) {
    const Frame::Place& place = frame_.places_[slot];
    if (place.home == Home::planned || place.home == Home::fixed) {
      continue;
    }
    frame_.held_.push_back(slot);
    const std::size_t last = last_use_[place.root];
    if ((place.home == Home::forwarded || place.home == Home::late) &&
        last < frame_.steps_.size()) {
      frame_.steps_[last]->release.push_back(slot);
    }
  }
}

}  // namespace antichain
