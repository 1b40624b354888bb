// How a row of the element-wise table becomes an operator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/operand.h"
#include "antichain/ops/reference/compute.h"

namespace antichain {

/// Returns the partial derivative of the output with respect to each input, element by element.
using Partials = std::vector<Var> (*)(std::span<const Var> x, Var y);

/// Returns grad times the slope of the output with respect to the only input, as one op.
using Pullback = Var (*)(Var grad, Var x, Var y);

struct ElementwiseRow {
  std::string name;
  std::string doc;
  const OpDef& (*self)();  // the function that returns this operator
  DTypeSet dtypes = kFloats;
  bool predicate = false;  // the result is bool
  double low = -2, high = 2;
  Partials partials = nullptr;
  Pullback pullback = nullptr;  // instead of partials, for an op of one value
  std::string no_gradient = {};
  std::vector<Rewrite> rewrites = {};
  std::function<std::vector<Var>(Op)> decompose = nullptr;
  Dim (*on_dims)(Dim,
                 Dim) = nullptr;  // the same on sizes: shapes computed from shapes stay symbolic
};

namespace elementwise {

// Parts that do not depend on the functor.
OpDef make_def(const ElementwiseRow& row, int arity, std::function<void(KernelContext&)> reference);

template <class F, class C>
void run_unary(const Tensor& in, const Tensor& out) {
  std::vector<C> values = load<C>(in);
  for (C& value : values) {
    value = static_cast<C>(F()(value));
  }
  store(values, out);
}

template <class F, class C>
void run_binary(const Tensor& a, const Tensor& b, const Tensor& out) {
  std::vector<C> left = load<C>(a.broadcast_to(out.shape()));
  const std::vector<C> right = load<C>(b.broadcast_to(out.shape()));
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<C>(F()(left[i], right[i]));
  }
  store(left, out);
}

}  // namespace elementwise

/// Makes the operator of a functor of one argument; `kIntegers` says whether it is also used on
/// integers.
template <class F, bool kIntegers = false>
OpDef unary_op(const ElementwiseRow& row) {
  return elementwise::make_def(row, 1, [](KernelContext& context) {
    if constexpr (kIntegers) {
      visit_compute(context.in(0).dtype(), [&](auto zero) {
        elementwise::run_unary<F, decltype(zero)>(context.in(0), context.out());
      });
    } else {
      elementwise::run_unary<F, double>(context.in(0), context.out());
    }
  });
}

/// Makes the operator of a functor of two arguments.
template <class F, bool kIntegers = true>
OpDef binary_op(const ElementwiseRow& row) {
  return elementwise::make_def(row, 2, [](KernelContext& context) {
    if constexpr (kIntegers) {
      visit_compute(context.in(0).dtype(), [&](auto zero) {
        elementwise::run_binary<F, decltype(zero)>(context.in(0), context.in(1), context.out());
      });
    } else {
      elementwise::run_binary<F, double>(context.in(0), context.in(1), context.out());
    }
  });
}

}  // namespace antichain
