#include "antichain/backends/cuda/scans/weighted_tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/stopwatch.h"
#include "antichain/backends/cuda/scans/weighted_launches.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;  // for trying
constexpr int kRuns = 5;                                    // of a chunk; the fastest counts
constexpr float kFasterThanEstimated = 0.98F;  // of the time: otherwise the estimate is kept
constexpr int kOfCoefficients = 0x3f, kOfWeights = 0x3d;  // bytes of 0.75 and of 0.046

// What a choice depends on; another version of the kernels has another number.
std::string describe_scan(const WeightedForm& form, const WeightedSizes& sizes) {
  std::string text =
      fmt::format("weighted scan 1: {} steps of {} states of {} x {}{}, weights to", sizes.steps,
                  sizes.places, form.states, sizes.units, sizes.adds ? " and b" : "");
  for (const std::int64_t to : form.weight_to) {
    text += fmt::format(" {}", to);
  }
  for (const WeightedForm::Diagonal& diagonal : form.diagonals) {
    text += fmt::format(", {} from {}", diagonal.to, diagonal.from);
  }
  for (const WeightedForm::Product& product : form.products) {
    text += fmt::format(", weight {} of {}", product.weight, product.from);
  }
  return text;
}

// A scan on memory of its own, of numbers that neither vanish nor grow fast.
class ScanTrial {
 public:
  ScanTrial(const Context& device, const WeightedForm& form, const WeightedSizes& sizes)
      : device_(device), form_(form), sizes_(sizes), watch_(device) {
    const std::int64_t part = sizes.steps * sizes.places * sizes.units;
    const std::int64_t weights =
        static_cast<std::int64_t>(form.weight_to.size()) * sizes.units * sizes.units;
    at_ = {.weights = scratch(weights, kOfWeights),
           .initial = scratch(part / sizes.steps * form.states),
           .b = sizes.adds ? scratch(part * form.states) : nullptr,
           .coefficients = {},
           .before = scratch(part * form.states),
           .last = scratch(part / sizes.steps * form.states),
           .factors = std::vector<const void*>(form.weight_to.size(), nullptr)};
    for (std::size_t i = 0; i < form.diagonals.size() + form.products.size(); ++i) {
      at_.coefficients.push_back(scratch(part));
    }
  }

  static std::int64_t bytes(const WeightedForm& form, const WeightedSizes& sizes) {
    const auto values = static_cast<std::int64_t>(form.diagonals.size() + form.products.size());
    return sizes.steps * sizes.places * sizes.units *
           (values + (sizes.adds ? 2 : 1) * form.states) * static_cast<std::int64_t>(sizeof(float));
  }

  float time_of(std::int64_t chunk) {
    WeightedLaunches launches(device_, form_, sizes_, true, chunk);
    const auto run = [&] { launches.run(at_); };
    run();  // the first run loads code
    float fastest = std::numeric_limits<float>::infinity();
    for (int i = 0; i < kRuns; ++i) {
      fastest = std::min(fastest, watch_.milliseconds(run));
    }
    return fastest;
  }

 private:
  const void* scratch(std::int64_t numbers, int pattern = kOfCoefficients) {
    const auto bytes = static_cast<std::size_t>(numbers) * sizeof(float);
    memory_.push_back(DeviceContext::allocate(device_, bytes));
    check(cudaMemsetAsync(memory_.back()->data(), pattern, bytes, device_->stream()),
          "measuring a scan");
    return memory_.back()->data();
  }

  const Context& device_;
  const WeightedForm& form_;
  const WeightedSizes& sizes_;
  Stopwatch watch_;
  std::vector<std::shared_ptr<Buffer>> memory_;
  WeightedAddresses at_{};
};

std::int64_t fastest_near(std::int64_t estimated, ScanTrial& trial, std::int64_t steps) {
  std::int64_t chosen = estimated;
  float best = trial.time_of(estimated);
  for (const std::int64_t chunk : chunks_near(estimated)) {
    if (chunk != estimated && chunk < steps) {
      const float time = trial.time_of(chunk);
      if (time < kFasterThanEstimated * best) {
        best = time;
        chosen = chunk;
      }
    }
  }
  return chosen;
}

}  // namespace

std::optional<std::int64_t> remembered_chunk(const MeasuredChoices& choices,
                                             const WeightedForm& form, const WeightedSizes& sizes) {
  const std::optional<std::string> found = choices.find(describe_scan(form, sizes));
  std::int64_t chunk = 0;
  if (found &&
      std::from_chars(found->data(), found->data() + found->size(), chunk).ec == std::errc() &&
      chunk > 0) {
    return chunk;
  }
  return std::nullopt;
}

std::int64_t tuned_chunk(const Context& device, const WeightedForm& form,
                         const WeightedSizes& sizes) {
  const std::int64_t estimated = choose_chunk(form, sizes);
  if (estimated >= sizes.steps) {
    return estimated;
  }
  const MeasuredChoices choices(device->device().index);
  if (const std::optional<std::int64_t> chunk = remembered_chunk(choices, form, sizes)) {
    return *chunk;
  }
  if (ScanTrial::bytes(form, sizes) > kMostBytes || !MeasuredChoices::may_measure(device)) {
    return estimated;
  }
  try {
    ScanTrial trial(device, form, sizes);
    const std::int64_t fastest = fastest_near(estimated, trial, sizes.steps);
    return choices.keep(describe_scan(form, sizes), std::to_string(fastest)) ? fastest : estimated;
  } catch (const OutOfMemory&) {  // a smaller program will measure it
    return estimated;
  }
}

}  // namespace antichain::cuda
