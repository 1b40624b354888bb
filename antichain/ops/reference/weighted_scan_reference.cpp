#include "antichain/ops/reference/weighted_scan_reference.h"

#include <algorithm>

#include "antichain/ops/reference/compute.h"
#include "antichain/ops/scans/weighted_scan.h"

namespace antichain {

namespace {

// A step of one row of states.
struct StepOfRow {
  const WeightedForm& form;
  const std::vector<double>& weights;
  std::size_t units;

  // Replaces the state by the one after a step with this b, if any, and these coefficients. Returns
  // what weights are multiplied by, one behind the other.
  std::vector<double> operator()(std::vector<double>& state, const double* b,
                                 const std::vector<const double*>& coefficients) const {
    std::vector<double> next(state.size()), u(form.weight_to.size() * units);
    if (b != nullptr) {
      next.assign(b, b + state.size());
    }
    std::size_t coefficient = 0;
    for (const auto& [to, from] : form.diagonals) {
      const double* const d = coefficients[coefficient++];
      for (std::size_t i = 0; i < units; ++i) {
        next[at(to, i)] += d[i] * state[at(from, i)];
      }
    }
    for (const auto& [weight, from] : form.products) {
      const double* const c = coefficients[coefficient++];
      for (std::size_t i = 0; i < units; ++i) {
        u[at(weight, i)] += c[i] * state[at(from, i)];
      }
    }
    for (std::size_t k = 0; k < form.weight_to.size(); ++k) {
      for (std::size_t i = 0; i < units; ++i) {
        for (std::size_t j = 0; j < units; ++j) {
          next[at(form.weight_to[k], i)] += weights[(k * units + i) * units + j] * u[k * units + j];
        }
      }
    }
    state = next;
    return u;
  }
  std::size_t at(std::int64_t part, std::size_t unit) const {
    return static_cast<std::size_t>(part) * units + unit;
  }
};

}  // namespace

void weighted_scan_reference(KernelContext& context) {
  const WeightedForm form = WeightedForm::of(*context.attrs);
  const std::vector<double> weights = load<double>(context.in(WeightedInputs::weights)),
                            initial = load<double>(context.in(WeightedInputs::initial));
  std::vector<std::vector<double>> coefficients;
  for (int i = WeightedInputs::first_coefficient; i < context.num_inputs(); ++i) {
    coefficients.push_back(load<double>(context.in(i)));
  }
  std::vector<double> b;
  const bool adds = context.attr<bool>("adds");
  if (adds) {
    b = coefficients.back();
    coefficients.pop_back();
  }
  const bool reverse = context.attr<bool>("reverse");
  const auto units = static_cast<std::size_t>(context.in(WeightedInputs::weights).shape()[1]);
  const auto size = units * static_cast<std::size_t>(form.states);
  const auto steps = static_cast<std::size_t>(context.out().shape()[0]);
  const std::size_t rows = size == 0 ? 0 : initial.size() / size;
  std::vector<double> before(steps * initial.size()), last(initial.size());
  std::vector<std::vector<double>> factors(
      context.attr<bool>("factors") ? form.weight_to.size() : 0,
      std::vector<double>(steps * rows * units));
  const StepOfRow step{form, weights, units};
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<double> state(initial.begin() + static_cast<std::ptrdiff_t>(row * size),
                              initial.begin() + static_cast<std::ptrdiff_t>((row + 1) * size));
    for (std::size_t n = 0; n < steps; ++n) {
      const std::size_t at = (reverse ? steps - 1 - n : n) * rows + row;
      std::ranges::copy(state, before.begin() + static_cast<std::ptrdiff_t>(at * size));
      std::vector<const double*> here;
      for (const std::vector<double>& coefficient : coefficients) {
        here.push_back(coefficient.data() + at * units);
      }
      const std::vector<double> u = step(state, adds ? b.data() + at * size : nullptr, here);
      for (std::size_t k = 0; k < factors.size(); ++k) {
        std::copy_n(u.begin() + static_cast<std::ptrdiff_t>(k * units), units,
                    factors[k].begin() + static_cast<std::ptrdiff_t>(at * units));
      }
    }
    std::ranges::copy(state, last.begin() + static_cast<std::ptrdiff_t>(row * size));
  }
  store(before, context.out(0));
  store(last, context.out(1));
  for (std::size_t k = 0; k < factors.size(); ++k) {
    store(factors[k], context.out(2 + static_cast<int>(k)));
  }
}

}  // namespace antichain
