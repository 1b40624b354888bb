// How a frame gives a device all of its steps at once, instead of kernel by kernel.
#include <algorithm>

#include "antichain/runtime/frame.h"

namespace antichain {

namespace {

// Arguments that lie somewhere else in every run are not worth it.
constexpr int kMostRecordings = 8;

void add_states(const Program& program, StateStore& states, const TensorMemory& device,
                std::vector<const void*>& places) {
  for (const Program::Step& step : program.steps()) {
    for (const std::string& name : step.runner.op().states()) {
      places.push_back(states.get(name, device).raw());
    }
    for (const Program& region : step.runner.regions()) {
      add_states(region, states, device, places);
    }
  }
}

}  // namespace

// Nothing may wait for the device or work on the host, and results lie in the frame's memory.
bool Frame::can_be_recorded() const {
  const auto is_kernel = [](const std::unique_ptr<BoundStep>& step) {
    const OpDef& def = step->step->runner.op().def();
    return step->kind != BoundStep::Kind::late && step->host_input_pointers.empty() &&
           step->host_output_pointers.empty() && !def.reads_values &&
           std::ranges::all_of(step->regions, [](const std::unique_ptr<Frame>& region) {
             return region->can_be_recorded();
           });
  };
  const auto is_own = [this](Slot slot) {
    const Home home = places_[slot].home;
    return role_ == Role::body || home == Home::planned || home == Home::fixed;
  };
  return std::ranges::all_of(steps_, is_kernel) && std::ranges::all_of(program_.results(), is_own);
}

// Where everything lies that the steps read and write and that may lie elsewhere in another run.
std::vector<const void*> Frame::find_places() const {
  std::vector<const void*> places = {memory_ ? memory_->data() : nullptr};
  for (const Slot slot : program_.params()) {
    places.push_back(values_[slot].defined() ? values_[slot].raw() : nullptr);
  }
  add_states(program_, *state_.states, *state_.backend, places);
  return places;
}

// The first run loads kernels and allocates what ops keep, the second is recorded and replayed, and
// so are those after it while nothing has moved. A state that is not updated in its own memory
// moves with every run: such steps are not recorded again.
void Frame::run_recorded() {
  std::vector<const void*> places = find_places();
  if (recording_ && places == recorded_at_) {
    recording_->replay();
    return;
  }
  recording_.reset();
  if (!has_run_) {
    has_run_ = true;
    run_steps();
    return;
  }
  recording_ = state_.backend->record([this] { run_steps(); });
  recording_->replay();
  recorded_at_ = find_places();
  if (places != recorded_at_ || ++recordings_ == kMostRecordings) {
    is_recordable_ = false;
    recording_.reset();
  }
}

}  // namespace antichain
