// Ops of one's own, in two ways: a function with a gradient of its own, made of existing ops; and a
// new operator with its own shape rule, derivative and kernel.
#include <antichain/antichain.h>
#include <fmt/ranges.h>

#include <cmath>

namespace ac = antichain;

namespace {

// 1. Rounding has the slope 0 almost everywhere, so nothing could be learned through it. The
// straight-through estimator (Bengio et al., 2013) pretends that it is the identity on [-1, 1].
ac::Var round_straight_through(ac::Var x) {
  return ac::custom_gradient(
      {x}, [](const ac::Vars& in) { return ac::Vars{ac::round(in[0])}; },
      [](const ac::Vars& in, const ac::Vars& output_grads) {
        const ac::Var inside = ac::less_equal(ac::abs(in[0]), 1);
        return ac::Vars{ac::select(inside, output_grads[0], 0)};
      })[0];
}

// 2. hypot(a, b), the length of the vector (a, b), without overflow on the way. An operator is a
// constant of type OpDef; nothing has to be registered.
ac::Var hypot(const ac::Operand& a, const ac::Operand& b);

// Checks the inputs and gives the type of the output. Sizes may be symbolic: unify() compares what
// can be compared now and leaves the rest to the run.
std::vector<ac::VarType> infer_hypot(ac::InferContext& context) {
  context.require_inputs(2);
  context.require_dtype(0, ac::kFloats);
  const ac::DType dtype = context.require_same_dtype();
  context.unify(context.shape(0), context.shape(1), "shapes of a and b");
  return {{dtype, context.shape(0)}};
}

// Output gradients in, input gradients out, as ops; forward mode and higher derivatives follow.
std::vector<ac::Var> hypot_vjp(ac::VjpContext& context) {
  const ac::Var scale = context.grad() / context.output();
  return {scale * context.input(0), scale * context.input(1)};
}

// Computes values: in double, for every float type.
void hypot_reference(ac::KernelContext& context) {
  const std::vector<double> a = context.in(0).to_vector<double>();
  const std::vector<double> b = context.in(1).to_vector<double>();
  std::vector<double> lengths;
  for (std::size_t i = 0; i < a.size(); ++i) {
    lengths.push_back(std::hypot(a[i], b[i]));
  }
  const ac::Tensor& out = context.out();
  out.copy_from(ac::Tensor::of<double>(out.shape(), lengths).cast(out.dtype()));
}

const ac::OpDef& hypot_def() {
  static const ac::OpDef def{.name = "hypot",
                             .doc = "Length of the vector (a, b), without overflow.",
                             .infer = infer_hypot,
                             .vjp = hypot_vjp,
                             .reference = hypot_reference};
  return def;
}

ac::Var hypot(const ac::Operand& a, const ac::Operand& b) { return ac::apply(hypot_def(), {a, b}); }

}  // namespace

int main() {
  using Doubles = std::vector<double>;
  ac::Session session;
  ac::Eager eager(session);

  const ac::Var x = eager(ac::Tensor::of<double>({3}, {-0.6, 0.4, 1.7}));
  const Doubles rounded = round_straight_through(x).value().to_vector<double>();
  const Doubles through = ac::grad(round_straight_through(x), x).value().to_vector<double>();
  fmt::print("rounded {}, gradient {}\n", rounded, through);

  const ac::Var a = eager(ac::Tensor::of<double>({2}, {3, 3e200}));
  const ac::Var b = eager(ac::Tensor::of<double>({2}, {4, 4e200}));
  const Doubles naive = ac::sqrt(ac::square(a) + ac::square(b)).value().to_vector<double>();
  const Doubles length = hypot(a, b).value().to_vector<double>();
  const ac::Var slope = ac::grad(hypot(a, b), a);
  fmt::print("sqrt(a^2 + b^2) {}, hypot {}, slope {}\n", naive, length,
             slope.value().to_vector<double>());

  // b^2 / hypot^3, and the same by forward mode over the rule above.
  const double curvature = ac::grad(slope, a).value().to_vector<double>()[0];
  const double forward =
      ac::jvp({slope}, {a}, {ac::ones_like(a)})[0].value().to_vector<double>()[0];
  fmt::print("second derivative {:.3f}, by forward mode {:.3f}\n", curvature, forward);

  const bool right =
      rounded == Doubles{-1, 0, 2} && through == Doubles{1, 1, 0} && std::isinf(naive[1]) &&
      length[0] == 5 && std::abs(length[1] / 5e200 - 1) < 1e-14 &&
      std::abs(curvature - 16.0 / 125) < 1e-12 && std::abs(forward - curvature) < 1e-12;
  return right ? 0 : 1;
}
