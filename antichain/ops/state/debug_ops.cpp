#include "antichain/ops/state/debug_ops.h"

#include <algorithm>
#include <cmath>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"

namespace antichain {

namespace {

std::vector<VarType> infer_print(InferContext& context) {
  context.require_inputs(1);
  return {context.type(0)};
}

std::vector<VarType> infer_assert_finite(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kFloats);
  return {context.type(0)};
}

std::vector<Var> pass_gradient(VjpContext& context) { return {context.grad()}; }

// Returns "print in 'encoder' (model.cpp:12): message" as far as there is a message.
std::string heading(const KernelContext& context) {
  const std::string& message = context.attr<std::string>("message");
  return message.empty() ? std::string(context.where)
                         : fmt::format("{}: {}", context.where, message);
}

void print_reference(KernelContext& context) {
  ensure(context.print_line != nullptr && *context.print_line, "{}: there is nowhere to print to",
         context.where);
  (*context.print_line)(fmt::format("{}: {}", heading(context), to_string(context.in(0))));
  context.out().copy_from(context.in(0));
}

Shape unravel(std::int64_t position, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

void assert_finite_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  const std::vector<double> values = x.to_vector<double>();
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](double value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    fail<DataError>("{}: the element at {} is {}", heading(context),
                    to_string(unravel(bad - values.begin(), x.shape())), *bad);
  }
  context.out().copy_from(x);
}

std::vector<Sample> samples_of(Var (*function)(const Operand&, std::string_view)) {
  const auto with = [function](const std::string& message) {
    return
        [=](Graph&, std::span<const Var> in) { return std::vector<Var>{function(in[0], message)}; };
  };
  return {
      {"with a message", {SampleInput{{3, 2}}}, with("hidden state")},
      {"without a message", {SampleInput{{1}}}, with("")},
      {"empty", {SampleInput{{0, 2}}}, with("")},
      {"rank 0", {SampleInput{{}}}, with("loss")},
  };
}

const OpDef& print_def() {
  static const OpDef def{
      .name = "print",
      .doc = "Returns its input and prints it.",
      .attributes = {{"message", "what to print in front", {std::string()}}},
      .dtypes = kAnyDType,
      .effect = Effect::external,
      .infer = infer_print,
      .vjp = pass_gradient,
      .no_vmap = "it prints once in a run; print the values of all copies outside of vmap",
      .reference = print_reference,
      .samples = [] { return samples_of(print); },
  };
  return def;
}

const OpDef& assert_finite_def() {
  static const OpDef def{
      .name = "assert_finite",
      .doc = "Returns its input; fails when an element is NaN or infinite.",
      .attributes = {{"message", "what to report in front", {std::string()}}},
      .dtypes = kFloats,
      .effect = Effect::external,
      .infer = infer_assert_finite,
      .vjp = pass_gradient,
      .no_vmap = "it stops a run; check the values of all copies outside of vmap",
      .reference = assert_finite_reference,
      .samples = [] { return samples_of(assert_finite); },
  };
  return def;
}

}  // namespace

Var print(const Operand& x, std::string_view message) {
  return apply(print_def(), {x}, {{"message", std::string(message)}});
}

Var assert_finite(const Operand& x, std::string_view message) {
  return apply(assert_finite_def(), {x}, {{"message", std::string(message)}});
}

std::vector<const OpDef*> debug_family() { return {&print_def(), &assert_finite_def()}; }

}  // namespace antichain
