// How a FrameBinder finds out which steps run at the same time.
#include <algorithm>
#include <unordered_map>

#include "antichain/runtime/frame_binder.h"

namespace antichain {

namespace {

bool has_effects(const Program& program) {
  return std::ranges::any_of(program.steps(), [](const Program::Step& step) {
    return step.runner.op().def().effect != Effect::none ||
           std::ranges::any_of(step.runner.regions(), has_effects);
  });
}

bool runs_by_itself(const OpRunner& runner) {
  return runner.op().def().effect == Effect::external ||
         std::ranges::any_of(runner.regions(), has_effects);
}

}  // namespace

// What each step needs of earlier ones: values, what it was told to wait for, and states. A value
// that was read from a state may lie in its memory, so a write of the state needs all readers.
class FrameBinder::StepNeeds {
 public:
  explicit StepNeeds(const FrameBinder& binder)
      : frame_(binder.frame_), made_by_(binder.program_.num_slots(), kNobody) {}

  std::vector<std::size_t> of_next(const BoundStep& bound) {
    needs_.clear();
    const Op op = bound.step->runner.op();
    for (Slot slot : bound.step->inputs) {
      need(made_by_[slot]);
      need(made_by_[frame_.storage_[slot].root]);
    }
    for (const ControlEdge& edge : op.control_edges()) {
      const auto before = position_.find(edge.before);
      need(before != position_.end() ? before->second : kNobody);
    }
    follow_states(bound, op);
    position_[op.id()] = next_;
    for (Slot slot : bound.step->outputs) {
      made_by_[slot] = next_;
    }
    ++next_;
    return needs_;
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  void need(std::size_t step) {
    if (step != kNobody && std::ranges::find(needs_, step) == needs_.end()) {
      needs_.push_back(step);
    }
  }

  void follow_states(const BoundStep& bound, Op op) {
    for (Slot slot : bound.step->inputs) {
      for (const std::string& name : states_in_[frame_.storage_[slot].root]) {
        users_[name].push_back(next_);
      }
    }
    for (const std::string& name : op.states()) {
      std::vector<std::size_t>& users = users_[name];
      if (op.def().effect == Effect::writes_state) {
        std::ranges::for_each(users, [this](std::size_t user) { need(user); });
        users.clear();
      } else if (!users.empty()) {
        need(users.front());  // the last write, if there is one
      }
      users.push_back(next_);
      for (Slot slot : bound.step->outputs) {
        states_in_[frame_.storage_[slot].root].push_back(name);
      }
    }
  }

  const Frame& frame_;
  std::size_t next_ = 0;
  std::vector<std::size_t> needs_;
  std::vector<std::size_t> made_by_;  // by slot
  std::unordered_map<OpId, std::size_t> position_;
  // The last write of a state, or its first reader, and everybody who used it since.
  std::unordered_map<std::string, std::vector<std::size_t>> users_;
  std::unordered_map<Slot, std::vector<std::string>> states_in_;  // whose memory a value may share
};

void FrameBinder::find_parallel_steps() {
  if (shared_.lanes < 2) {
    return;
  }
  StepNeeds needs(*this);
  std::vector<SectionStep> steps;
  for (const auto& bound : frame_.steps_) {
    const OpRunner& runner = bound->step->runner;
    const bool computes = bound->kind == BoundStep::Kind::kernel && !runner.op().def().forwards;
    steps.push_back(
        {.time = computes ? shared_.backend->step_time(runner.op(), shared_.env) : StepTime{},
         .by_itself = bound->kind == BoundStep::Kind::late || runs_by_itself(runner),
         .needs = needs.of_next(*bound)});
  }
  frame_.sections_ = find_sections(steps, shared_.lanes);
  section_of_.assign(steps.size(), nullptr);
  lane_of_.assign(steps.size(), 0);
  for (const Section& section : frame_.sections_) {
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
      for (const std::size_t n : section.lanes[lane]) {
        section_of_[n] = &section;
        lane_of_[n] = lane;
      }
    }
  }
}

const Section* FrameBinder::section_of(std::size_t step) const {
  return step < section_of_.size() ? section_of_[step] : nullptr;
}

// What lives at a step of a section must not meet what other lanes have in memory at any time.
Lifetime FrameBinder::widened(Lifetime lifetime) const {
  if (const Section* const section = section_of(lifetime.first)) {
    lifetime.first = section->first;
  }
  if (const Section* const section = section_of(lifetime.last)) {
    lifetime.last = section->last - 1;
  }
  // A device that runs steps as soon as it can must not wait for memory: small values keep theirs
  // for some more steps. Steps on large values keep the device busy by themselves.
  constexpr std::size_t kSmall = std::size_t{4} << 20, kMoreSteps = 12;
  if (shared_.parallel && shared_.backend->records() && lifetime.bytes <= kSmall) {
    lifetime.last =
        std::max(lifetime.last, std::min(lifetime.last + kMoreSteps, frame_.steps_.size() - 1));
  }
  return lifetime;
}

}  // namespace antichain
