#include "antichain/runtime/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace antichain {

namespace {

// Whether an op that works in place has written an output where the value was.
bool is_overwritten(const Tensor& value, std::span<Tensor* const> outputs) {
  return std::ranges::any_of(outputs, [&](const Tensor* output) {
    return output->defined() && value.numel() > 0 && output->raw() == value.raw();
  });
}

// "x f32[2, 3] in [-1, 4]", or what else is in it.
std::string describe(Var input, const Tensor& value, std::span<Tensor* const> outputs) {
  std::string text =
      fmt::format("{} {}{}", input.name(), name(value.dtype()), to_string(value.shape()));
  if (value.device() != Device{} || value.numel() == 0) {
    return text;
  }
  if (is_overwritten(value, outputs)) {
    return text + " (overwritten by the result)";
  }
  const std::vector<double> elements = value.to_vector<double>();
  const bool finite =
      std::all_of(elements.begin(), elements.end(), [](double x) { return std::isfinite(x); });
  const auto [low, high] = std::minmax_element(elements.begin(), elements.end());
  return text + (finite ? fmt::format(" in [{:g}, {:g}]", *low, *high)
                        : " with elements that are not finite");
}

}  // namespace

void FiniteCheck::ran(const OpEvent& event) {
  for (const Tensor* made : event.outputs) {
    const Tensor& output = *made;
    if (!output.defined() || !is_float(output.dtype()) || output.device() != Device{}) {
      continue;
    }
    const std::vector<double> elements = output.to_vector<double>();
    const auto bad =
        std::find_if(elements.begin(), elements.end(), [](double x) { return !std::isfinite(x); });
    if (bad == elements.end()) {
      continue;
    }
    std::string inputs;
    for (std::size_t i = 0; i < event.inputs.size(); ++i) {
      inputs += (i ? ", " : "") +
                describe(event.op.input(static_cast<int>(i)), *event.inputs[i], event.outputs);
    }
    fail<DataError>("{} makes {} at element {} of {}; its inputs: {}", event.where, *bad,
                    bad - elements.begin(), to_string(output.shape()),
                    inputs.empty() ? "none" : inputs);
  }
}

}  // namespace antichain
