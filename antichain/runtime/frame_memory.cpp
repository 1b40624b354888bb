// How a FrameBinder finds out which values share memory.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "antichain/runtime/frame_binder.h"

namespace antichain {

// Results that a step computes go straight into the caller's memory, if the device can see it: that
// of an op whose body this is, always.
void FrameBinder::choose_targets() {
  const std::span<const Slot> results = program_.results();
  const bool in_sight = shared_.backend->device() == Device{} || frame_.role_ == Frame::Role::body;
  for (std::size_t i = 0; in_sight && i < results.size(); ++i) {
    Frame::Storage& storage = frame_.storage_[results[i]];
    if (storage.home == Home::planned && storage.root == results[i]) {
      storage.home = Home::target;
      frame_.targets_.push_back({i, results[i], Tensor()});
    }
  }
  // Views were laid out before it was known where their root lies.
  for (Slot slot = 0; slot < frame_.storage_.size(); ++slot) {
    Frame::Storage& storage = frame_.storage_[slot];
    storage.home = frame_.storage_[storage.root].home;
  }
  // A view into memory that does not move needs no step.
  std::erase_if(frame_.steps_, [this](const std::unique_ptr<BoundStep>& bound) {
    return bound->kind == BoundStep::Kind::view &&
           frame_.storage_[bound->step->outputs[0]].home == Home::planned;
  });
}

void FrameBinder::find_last_uses() {
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> used(program_.num_slots(), kNever);  // before: by which step
  last_use_.assign(program_.num_slots(), 0);
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    const Program::Step& step = *frame_.steps_[n]->step;
    for (const std::vector<Slot>* slots : {&step.inputs, &step.outputs}) {
      for (Slot slot : *slots) {
        const Slot root = frame_.storage_[slot].root;
        const Section* const section = section_of(n);
        const bool shared = section != nullptr && used[root] != kNever &&
                            section_of(used[root]) == section &&
                            (lane_of_[used[root]] != lane_of_[n] || last_use_[root] > n);
        used[root] = n;
        // Nobody knows which lane is the last one: it is needed until they have met.
        last_use_[root] = shared ? section->last : n;
      }
    }
  }
  for (Slot slot : program_.results()) {
    last_use_[frame_.storage_[slot].root] = frame_.steps_.size();
  }
  taken_from_.resize(program_.num_slots());
  std::iota(taken_from_.begin(), taken_from_.end(), Slot{0});
}

Program::Slot FrameBinder::storage_of(Slot slot) const {
  Slot storage = frame_.storage_[slot].root;
  while (taken_from_[storage] != storage) {
    storage = taken_from_[storage];
  }
  return storage;
}

bool FrameBinder::may_take_over(const BoundStep& bound, std::size_t n, Slot in, Slot out) const {
  const Tensor &from = frame_.values_[in], &to = frame_.values_[out];
  const Slot storage = storage_of(in);
  if (frame_.storage_[in].home != Home::planned || last_use_[storage] != n ||
      frame_.storage_[in].shift != 0 || from.dtype() != to.dtype() || from.shape() != to.shape() ||
      !from.is_contiguous() || frame_.values_[storage].bytes() != to.bytes()) {
    return false;
  }
  // Another input in the same memory must see it in the same way.
  return std::ranges::all_of(bound.step->inputs, [&](Slot other) {
    return storage_of(other) != storage || frame_.storage_[other].home != Home::planned ||
           (frame_.storage_[other].shift == 0 && frame_.values_[other].is_contiguous() &&
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

// Whether an output of step n may be written into the memory of an input.
bool FrameBinder::may_write_over(const BoundStep& bound, std::size_t n, std::size_t in,
                                 std::size_t out) const {
  const OpRunner& runner = bound.step->runner;
  const std::vector<Slot>&inputs = bound.step->inputs, &outputs = bound.step->outputs;
  if (!may_take_over(bound, n, inputs[in], outputs[out])) {
    return false;
  }
  if (works_on(bound, in, out)) {
    return true;
  }
  // All inputs that lie there must allow it.
  const Slot storage = storage_of(inputs[in]);
  for (std::size_t i = 0; runner.kernel().may_overwrite && i < inputs.size(); ++i) {
    if (storage_of(inputs[i]) == storage && frame_.storage_[inputs[i]].home == Home::planned &&
        !runner.kernel().may_overwrite(runner.op(), static_cast<int>(out), static_cast<int>(i))) {
      return false;
    }
  }
  return runner.kernel().in_place;
}

void FrameBinder::reuse_inputs() {
  std::unordered_map<Slot, std::size_t> lodgings;  // storages that move to a target
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    const BoundStep& bound = *frame_.steps_[n];
    if (bound.kind != BoundStep::Kind::kernel ||
        (!bound.step->runner.kernel().in_place && bound.step->runner.works_on().empty())) {
      continue;
    }
    const std::vector<Slot>&inputs = bound.step->inputs, &outputs = bound.step->outputs;
    std::vector<Slot> taken;
    for (std::size_t out = 0; out < outputs.size(); ++out) {
      const Frame::Storage& own = frame_.storage_[outputs[out]];
      // Of a whole program, what a result is computed from stays for those who watch.
      const bool lodges = own.home == Home::target && frame_.role_ == Frame::Role::body;
      if ((own.home != Home::planned && !lodges) || own.root != outputs[out]) {
        continue;
      }
      for (std::size_t in = 0; in < inputs.size(); ++in) {
        const Slot storage = storage_of(inputs[in]);
        if (!may_write_over(bound, n, in, out) ||
            std::ranges::find(taken, storage) != taken.end()) {
          continue;
        }
        if (lodges) {
          const auto target =
              std::ranges::find(frame_.targets_, outputs[out], &Frame::Target::slot);
          lodgings[storage] = static_cast<std::size_t>(target - frame_.targets_.begin());
        } else {
          taken_from_[outputs[out]] = storage;
          last_use_[storage] = last_use_[outputs[out]];
        }
        taken.push_back(storage);
        break;
      }
    }
  }
  move_to_targets(lodgings);
}

// Nobody uses the memory of a result before it is written, so what it is computed from in place may
// lie there from the beginning.
void FrameBinder::move_to_targets(const std::unordered_map<Slot, std::size_t>& lodgings) {
  for (Slot slot = 0; !lodgings.empty() && slot < frame_.storage_.size(); ++slot) {
    const auto found = frame_.storage_[slot].home == Home::planned ? lodgings.find(storage_of(slot))
                                                                   : lodgings.end();
    if (found != lodgings.end()) {
      frame_.targets_[found->second].lodgers.push_back(slot);
    }
  }
  for (const Frame::Target& target : frame_.targets_) {
    for (Slot slot : target.lodgers) {
      frame_.storage_[slot].home = Home::target;
    }
  }
}

// What a step and its regions, which do not run at the same time, work in beside its outputs.
std::size_t FrameBinder::workspace_bytes(BoundStep& bound) {
  const OpRunner& runner = bound.step->runner;
  const auto& workspace = runner.op().def().workspace;
  std::size_t bytes = 0;
  bound.region_starts.assign(bound.regions.size(), 0);
  if (bound.kind == BoundStep::Kind::kernel && workspace && runner.by_reference()) {
    const WorkspaceSize size = workspace(bound.context);
    const Shape shape = {static_cast<std::int64_t>(size.bytes)};
    bound.context.workspace = &bound.workspace;
    if (runner.on_host() && shared_.backend->device() != Device{}) {  // it works on host copies
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

void FrameBinder::assign_memory() {
  std::vector<Lifetime>& lifetimes = frame_.lifetimes_;
  frame_.planned_at_.assign(program_.num_slots(), 0);
  for (std::size_t n = 0; n < frame_.steps_.size(); ++n) {
    BoundStep& bound = *frame_.steps_[n];
    for (Slot slot : bound.step->outputs) {
      const Frame::Storage& at = frame_.storage_[slot];
      if (at.home != Home::planned || at.root != slot) {
        continue;
      }
      const Slot storage = storage_of(slot);
      if (storage == slot) {
        frame_.planned_at_[slot] = lifetimes.size();
        lifetimes.push_back(widened({frame_.values_[slot].bytes(), n, last_use_[slot]}));
      } else {
        frame_.planned_at_[slot] = frame_.planned_at_[storage];
      }
    }
    if (const std::size_t bytes = workspace_bytes(bound); bytes > 0 || !bound.regions.empty()) {
      bound.workspace_at = lifetimes.size();
      lifetimes.push_back(widened({bytes, n, n}));
    }
  }
  frame_.plan_ = plan_memory(lifetimes);
}

// Memory of others is let go after its last use: a state that nobody holds is updated in place.
void FrameBinder::plan_release() {
  for (Slot slot = 0; slot < frame_.storage_.size(); ++slot) {
    const Frame::Storage& storage = frame_.storage_[slot];
    if (storage.home == Home::planned || storage.home == Home::fixed) {
      continue;
    }
    frame_.held_.push_back(slot);
    const std::size_t last = last_use_[storage.root];
    if ((storage.home == Home::forwarded || storage.home == Home::late) &&
        last < frame_.steps_.size()) {
      frame_.steps_[last]->release.push_back(slot);
    }
  }
}

}  // namespace antichain
