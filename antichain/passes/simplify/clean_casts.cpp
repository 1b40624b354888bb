#include "antichain/passes/simplify/clean_casts.h"

#include <limits>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain {

namespace {

// Bits of a float's significand and of its exponent's range, or of an integer's magnitude.
struct Precision {
  int digits, exponent;
};

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {53, 1024};
    case DType::f32: return {24, 128};
    case DType::bf16: return {8, 128};
    case DType::f16: return {11, 16};
    case DType::i64: return {63, 63};
    case DType::i32: return {31, 31};
    case DType::i8: return {7, 7};
    case DType::u8: return {8, 8};
    default: return {1, 1};
  }
}

// Whether every value of one type is a value of the other. The smallest powers of a float type are
// about as small as its largest are large, except that f16's subnormal numbers reach 2^-24.
bool holds_all_of(DType wide, DType narrow) {
  if (narrow == DType::boolean || wide == narrow) {
    return true;
  }
  const Precision from = precision_of(narrow), to = precision_of(wide);
  if (!is_float(wide)) {
    const bool sign_fits = wide != DType::u8 || narrow == DType::u8;
    return !is_float(narrow) && wide != DType::boolean && sign_fits && to.digits >= from.digits;
  }
  // The lowest integer is a power of two: one digit suffices.
  return to.digits >= from.digits && to.exponent > from.exponent - (is_float(narrow) ? 1 : 0);
}

bool is_double_cast(Op op) { return &op.def() == &cast_def() && made_by(op.input(0), cast_def()); }

std::vector<Var> clean(Op op) {
  if (!is_double_cast(op)) {
    return op.outputs();
  }
  const DType last = op.output().dtype(), middle = op.input(0).dtype();
  const Var x = op.input(0).producer().input(0);
  // To bool and from it is a question, not a conversion.
  if (middle == DType::boolean || !holds_all_of(middle, x.dtype())) {
    return op.outputs();
  }
  return {x.dtype() == last ? x : cast(x, last)};
}

}  // namespace

GraphCopy clean_casts(const GraphCopy& source) { return copy_graph(source, replacing_ops(clean)); }

bool has_double_casts(Graph& graph) { return has_op(graph, is_double_cast); }

}  // namespace antichain
