#include "recipes/precision.h"

#include <algorithm>

#include "antichain/base/error.h"

namespace antichain {

namespace {

const std::vector<Precision>& precisions() {
  static const std::vector<Precision> all = {{.name = "fp32", .dtype = f32},
                                             {.name = "tf32", .dtype = f32, .tf32 = true},
                                             {.name = "bf16", .dtype = bf16},
                                             {.name = "fp16", .dtype = f16, .scales_loss = true}};
  return all;
}

}  // namespace

OptionSpec precision_option() {
  OptionSpec option{.name = "precision",
                    .kind = OptionKind::choice,
                    .fallback = "fp32",
                    .doc =
                        "what to compute in, with parameters in f32; tf32: products on a GPU "
                        "round their factors to 11 bits, the CPU computes in fp32; fp16: with "
                        "loss scaling"};
  for (const Precision& precision : precisions()) {
    option.choices.push_back(precision.name);
  }
  return option;
}

const Precision& precision_of(const Settings& settings) {
  const auto found = std::ranges::find(precisions(), settings.text("precision"), &Precision::name);
  ensure(found != precisions().end(), "a precision that is no choice");
  return *found;
}

}  // namespace antichain
