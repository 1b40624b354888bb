// How a frame gives a device all of its steps at once, instead of kernel by kernel.
#include <algorithm>

#include "antichain/runtime/frame.h"

namespace antichain {

namespace {

// Arguments that lie somewhere else in every run are not worth it.
constexpr int kMostRecordings = 8;

// Where a tensor's elements lie; strides may be negative.
MemoryRange range_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) {
    return {};
  }
  std::int64_t lowest = 0, highest = 0;  // from the first element
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    const std::int64_t reach = (tensor.shape()[axis] - 1) * tensor.strides()[axis];
    (reach < 0 ? lowest : highest) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(tensor.dtype()));
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.raw()));
  return {static_cast<std::uintptr_t>(first + lowest * size),
          static_cast<std::uintptr_t>(first + (highest + 1) * size)};
}

bool has_states(const Program& program) {
  return std::ranges::any_of(program.steps(), [](const Program::Step& step) {
    return !step.runner.op().states().empty() ||
           std::ranges::any_of(step.runner.regions(), has_states);
  });
}

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
    const Home home = storage_[slot].home;
    return role_ == Role::body || home == Home::planned || home == Home::fixed;
  };
  return std::ranges::all_of(steps_, is_kernel) && std::ranges::all_of(program_.results(), is_own);
}

// Where everything lies that the steps read and write and that may lie elsewhere in another run. A
// state is updated where it is unless somebody holds its value, who then keeps it.
Frame::Addresses Frame::find_addresses() const {
  Addresses addresses{.at = {memory_ ? memory_->data() : nullptr}};
  for (const Slot slot : program_.params()) {
    addresses.at.push_back(values_[slot].defined() ? values_[slot].raw() : nullptr);
  }
  for_each_state(program_, [&](const std::string& name, bool is_written) {
    const Tensor& value = shared_.states->get(name, *shared_.backend);
    addresses.at.push_back(value.raw());
    addresses.states_stay = addresses.states_stay && (!is_written || sole_owner(value.buffer()));
  });
  return addresses;
}

// Notes down what a step reads and writes. It is asked before the step and behind it, because some
// ops choose the memory of their outputs and states.
void Frame::order_accesses(const BoundStep& step, AccessOrder& order) const {
  if (step.kind == BoundStep::Kind::view) {
    return;
  }
  const OpRunner& runner = step.step->runner;
  if (std::ranges::any_of(runner.regions(), has_states)) {
    order.write(all_memory());
    return;
  }
  for (const Tensor* input : step.inputs) {
    order.read(range_of(*input));
  }
  const Op op = runner.op();
  const bool only_reads = op.def().effect == Effect::reads_state;
  for (const std::string& name : op.states()) {
    const MemoryRange state = range_of(shared_.states->get(name, *shared_.backend));
    if (only_reads) {
      order.read(state);
    } else {
      order.write(state);
    }
  }
  for (const Tensor* output : step.outputs) {
    // What was only read from a state, or handed on, lies in memory that nobody has written.
    if (!op.def().forwards) {
      order.write(range_of(*output));
    }
  }
  if (step.workspace_at && memory_ != nullptr) {
    const auto first =
        reinterpret_cast<std::uintptr_t>(memory_->data()) + plan_.offsets[*step.workspace_at];
    order.write({first, first + lifetimes_[*step.workspace_at].bytes});
  }
}

// Steps that need nothing of each other may run at the same time: a step waits for what has touched
// the memory that it touches, or for the step before it where that is not wanted.
std::unique_ptr<Recording> Frame::record_steps() {
  AccessOrder order;
  const auto run = [&](std::size_t n) {
    run_step(*steps_[n]);
    order_accesses(*steps_[n], order);
  };
  const auto needs = [&](std::size_t n) {
    order.begin_step();
    if (!shared_.parallel) {
      return n > 0 ? std::vector{n - 1} : std::vector<std::size_t>();
    }
    order_accesses(*steps_[n], order);
    return order.needs();
  };
  return shared_.backend->record(steps_.size(), run, needs);
}

// A run that ends well has loaded kernels and allocated what ops keep. If nothing has moved either,
// the next one is recorded and replayed, and so are those after it until something lies elsewhere.
// While a state has to move, steps run one by one: so what is recorded leaves no state half-changed
// when it fails, and replays change none that somebody holds.
void Frame::run_recorded() {
  Addresses addresses = find_addresses();
  if (recording_ && addresses.states_stay && addresses.at == recorded_at_) {
    recording_->replay();
    return;
  }
  recording_.reset();
  if (!may_be_next_ || !addresses.states_stay) {
    may_be_next_ = false;
    run_steps();
    may_be_next_ = addresses.at == find_addresses().at;
    return;
  }
  recording_ = record_steps();
  recording_->replay();
  recorded_at_ = std::move(addresses.at);
  if (++recordings_ == kMostRecordings) {
    is_recordable_ = false;
    recording_.reset();
  }
}

}  // namespace antichain
