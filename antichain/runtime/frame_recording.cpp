// How a frame gives a device all of its steps at once, instead of kernel by kernel.
#include <algorithm>

#include "antichain/runtime/frame.h"

namespace antichain {

namespace {

// Arguments that lie somewhere else in every run are not worth it.
constexpr int kMostRecordings = 8;

void for_each_state(const Program& program,
                    FunctionRef<void(const std::string& name, bool is_written)> visit) {
  for (const Program::Step& step : program.steps()) {
    const Op op = step.runner.op();
    for (const std::string& name : op.states()) {
      visit(name, op.def().effect == Effect::writes_state);
    }
    for (const Program& region : step.runner.regions()) {
      for_each_state(region, visit);
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

// Where everything lies that the steps read and write and that may lie elsewhere in another run. A
// state is updated where it is unless somebody holds its value, who then keeps it.
Frame::Places Frame::find_places() const {
  Places places{.at = {memory_ ? memory_->data() : nullptr}};
  for (const Slot slot : program_.params()) {
    places.at.push_back(values_[slot].defined() ? values_[slot].raw() : nullptr);
  }
  for_each_state(program_, [&](const std::string& name, bool is_written) {
    const Tensor& value = state_.states->get(name, *state_.backend);
    places.at.push_back(value.raw());
    places.states_stay = places.states_stay && (!is_written || sole_owner(value.buffer()));
  });
  return places;
}

// A run that ends well has loaded kernels and allocated what ops keep. If nothing has moved either,
// the next one is recorded and replayed, and so are those after it until something lies elsewhere.
// While a state has to move, steps run one by one: so what is recorded leaves no state half-changed
// when it fails, and replays change none that somebody holds.
void Frame::run_recorded() {
  Places places = find_places();
  if (recording_ && places.states_stay && places.at == recorded_at_) {
    recording_->replay();
    return;
  }
  recording_.reset();
  if (!may_be_next_ || !places.states_stay) {
    may_be_next_ = false;
    run_steps();
    may_be_next_ = places.at == find_places().at;
    return;
  }
  recording_ = state_.backend->record([this] { run_steps(); });
  recording_->replay();
  recorded_at_ = std::move(places.at);
  if (++recordings_ == kMostRecordings) {
    is_recordable_ = false;
    recording_.reset();
  }
}

}  // namespace antichain
