#include "antichain/backends/cuda/chains/chain_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/measured_choices.h"
#include "antichain/backends/cuda/core/stopwatch.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostTrialBytes = std::int64_t{2} << 30;
constexpr std::int64_t kTrialSteps = 32;      // at most: as many tell
constexpr double kWorthTrying = 1e7;          // multiply-adds of all steps
constexpr int kRunsOfChoice = 5;              // the fastest counts
constexpr float kFasterThanEstimate = 0.97F;  // of the time: otherwise the estimate is kept
constexpr int kTrialPattern = 0x3d;           // bytes of 0.046

double multiply_adds(const ChainBody& body) {
  double total = 0;
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      const auto columns = body.values[static_cast<std::size_t>(product->out)].columns;
      total += static_cast<double>(product->left.columns) * static_cast<double>(columns);
    }
  }
  return total;
}

// The text of a kernel says all that its body is.
std::string describe_chain(const ChainChoice& estimated, const ChainRows& rows,
                           std::int64_t length) {
  return fmt::format("chain 1: {} steps of {} rows in {} groups\n{}", length, rows.rows,
                     rows.groups, estimated.kernel.text);
}
std::string describe_shape(const ChainShape& shape) {
  return fmt::format("{} rows, {} threads, {} buffers, {} slabs", shape.rows_per_block,
                     shape.threads, shape.buffers, shape.slabs);
}

// The first steps of a chain on memory of its own.
class ChainTrial {
 public:
  ChainTrial(const KernelContext& context, const ChainBody& body, const ChainRows& rows,
             std::int64_t steps, const Context& device)
      : device_(device),
        rows_(rows),
        steps_(steps),
        arguments_(context.inputs.size(), context.outputs.size()),
        watch_(device) {
    const ChainLayout layout(context.op);
    const std::int64_t length = context.size("length");
    for (const ChainValue& value : body.values) {
      if (value.input < 0) {
        continue;
      }
      const auto i = static_cast<std::size_t>(value.input);
      const bool walks = value.input >= layout.first_x() && value.input < layout.first_captured();
      const std::int64_t elements = context.inputs[i]->numel() / (walks ? length : 1);
      set_.push_back({arguments_.step(i), walks ? elements : 0});
      set_.push_back({arguments_.group(i), value.grouped ? elements / rows.groups : 0});
      at_.push_back({arguments_.input(i),
                     scratch(elements * (walks ? steps : 1), context.inputs[i]->dtype())});
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
      if (context.wanted[i] != 0) {
        const Tensor& output = *context.outputs[i];
        const bool is_last = i < static_cast<std::size_t>(layout.states);
        at_.push_back(
            {arguments_.output(i),
             scratch(is_last ? output.numel() : output.numel() / length * steps, output.dtype())});
      }
    }
  }

  static std::int64_t bytes(const KernelContext& context, std::int64_t steps) {
    const ChainLayout layout(context.op);
    const std::int64_t length = context.size("length");
    std::int64_t all = 0;
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
      const bool walks =
          static_cast<int>(i) >= layout.first_x() && static_cast<int>(i) < layout.first_captured();
      const auto size = static_cast<std::int64_t>(context.inputs[i]->bytes());
      all += walks ? size / length * steps : size;
    }
    for (const Tensor* output : context.outputs) {
      all += static_cast<std::int64_t>(output->bytes()) / length * steps;
    }
    return all;
  }

  Launch launch_of(const ChainChoice& choice) const {
    Launch launch = arguments_.launch(device_, choice, rows_, steps_);
    for (const auto& [slot, number] : set_) {
      launch.set(slot, number);
    }
    for (const auto& [slot, address] : at_) {
      launch.set(slot, address);
    }
    return launch;
  }
  float time_of(Launch& launch) {
    const auto run = [&launch] { launch.run(); };
    run();  // the first run loads code
    float fastest = std::numeric_limits<float>::infinity();
    for (int i = 0; i < kRunsOfChoice; ++i) {
      fastest = std::min(fastest, watch_.milliseconds(run));
    }
    return fastest;
  }

 private:
  const void* scratch(std::int64_t elements, DType dtype) {
    const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
    memory_.push_back(DeviceContext::allocate(device_, bytes));
    check(cudaMemsetAsync(memory_.back()->data(), kTrialPattern, bytes, device_->stream()),
          "measuring a chain");
    return memory_.back()->data();
  }

  const Context& device_;
  ChainRows rows_;
  std::int64_t steps_;
  ChainArguments arguments_;
  Stopwatch watch_;
  std::vector<std::pair<std::size_t, std::int64_t>> set_;
  std::vector<std::pair<std::size_t, const void*>> at_;
  std::vector<std::shared_ptr<Buffer>> memory_;
};

ChainChoice fastest_choice(const ChainChoice& estimated, const std::vector<ChainChoice>& others,
                           ChainTrial& trial) {
  std::vector<Launch> launches = {trial.launch_of(estimated)};
  for (const ChainChoice& other : others) {
    launches.push_back(trial.launch_of(other));  // all are compiled meanwhile
  }
  const ChainChoice* chosen = &estimated;
  float best = trial.time_of(launches[0]) * kFasterThanEstimate;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (const float time = trial.time_of(launches[i + 1]); time < best) {
      best = time;
      chosen = &others[i];
    }
  }
  return *chosen;
}

}  // namespace

Launch ChainArguments::launch(const Context& device, const ChainChoice& choice,
                              const ChainRows& rows, std::int64_t steps) const {
  std::vector<std::int64_t> slots(count());
  slots[length()] = steps;
  slots[this->rows()] = rows.rows;
  slots[groups()] = rows.groups;
  return {device,
          choice.kernel.text,
          "chain",
          rows.blocks(choice.shape),
          dim3(static_cast<unsigned>(choice.shape.threads)),
          std::move(slots),
          choice.kernel.shared_bytes};
}

ChainChoice tuned_choice(const KernelContext& context, const ChainRows& rows,
                         const Context& device) {
  const ChainBody body(context.op);
  ChainChoice estimated = estimated_choice(context.op, body, rows, *device);
  const std::int64_t length = context.size("length");
  const double work = multiply_adds(body) * static_cast<double>(rows.all() * length);
  if (work < kWorthTrying) {
    return estimated;
  }
  const std::vector<ChainChoice> others = other_choices(context.op, body, rows, *device, estimated);
  if (others.empty()) {
    return estimated;
  }
  const MeasuredChoices choices(device->device().index);
  const std::string problem = describe_chain(estimated, rows, length);
  if (const std::optional<std::string> found = choices.find(problem)) {
    const auto is_found = [&](const ChainChoice& other) {
      return describe_shape(other.shape) == *found;
    };
    const auto other = std::ranges::find_if(others, is_found);
    return other == others.end() ? estimated : *other;
  }
  const std::int64_t steps = std::min(length, kTrialSteps);
  if (ChainTrial::bytes(context, steps) > kMostTrialBytes ||
      !MeasuredChoices::may_measure(device)) {
    return estimated;
  }
  try {
    ChainTrial trial(context, body, rows, steps, device);
    const ChainChoice fastest = fastest_choice(estimated, others, trial);
    return choices.keep(problem, describe_shape(fastest.shape)) ? fastest : estimated;
  } catch (const OutOfMemory&) {  // a smaller program will measure it
    return estimated;
  }
}

}  // namespace antichain::cuda
