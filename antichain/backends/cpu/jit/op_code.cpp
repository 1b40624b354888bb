#include "antichain/backends/cpu/jit/op_code.h"

#include <functional>
#include <unordered_map>

namespace antichain::cpu {

namespace {

using Writer = CodeWriter;
using Name = Writer::Name;
using Names = std::vector<Name>;

bool is_known(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::bf16:
    case DType::i32:
    case DType::i64:
    case DType::boolean: return true;
    default: return false;
  }
}

Name zero(DType dtype) { return Writer::number(dtype, 0); }
Name one(DType dtype) { return Writer::number(dtype, 1); }

Name is_set(Writer& w, DType dtype, const Name& x) {
  return dtype == DType::boolean ? x : w.compare("une", "ne", dtype, x, zero(dtype));
}

Name multiply(Writer& w, DType dtype, const Name& a, const Name& b) {
  return w.arithmetic("fmul", "mul", dtype, a, b);
}
Name subtract(Writer& w, DType dtype, const Name& a, const Name& b) {
  return w.arithmetic("fsub", "sub", dtype, a, b);
}
Name divide(Writer& w, DType dtype, const Name& a, const Name& b) {
  return w.arithmetic("fdiv", "sdiv", dtype, a, b);
}

// A NaN on either side wins.
Name extreme(Writer& w, const char* floats, const char* integers, DType dtype, const Names& x) {
  Name first = w.compare(floats, integers, dtype, x[0], x[1]);
  if (is_float(dtype)) {
    const Name nan = w.compare("uno", "", dtype, x[0], x[0]);
    first = w.emit("or i1 {}, {}", nan, first);
  }
  return w.choose(first, dtype, x[0], x[1]);
}

// One row per op: what its functor (antichain/ops/elementwise/elementwise_functors.h) computes.
struct Row {
  std::function<Name(Writer&, DType, const Names&)> write;
  bool integers = false;  // also on i32 and i64
  bool bools = false;     // also on bool
  bool exact = false;     // has no more bits than its arguments
};

Row comparison(const char* floats, const char* integers, bool bools) {
  return {[=](Writer& w, DType t, const Names& x) {
            return w.compare(floats, integers, t, x[0], x[1]);
          },
          true, bools};
}
Row logic(const char* operation) {
  return {[=](Writer& w, DType t, const Names& x) {
            const Name a = is_set(w, t, x[0]), b = is_set(w, t, x[1]);
            return w.emit("{} i1 {}, {}", operation, a, b);
          },
          true, true};
}
Row binary(const char* floats, const char* integers, bool has_integers = true) {
  return {[=](Writer& w, DType t, const Names& x) {
            return w.arithmetic(floats, integers, t, x[0], x[1]);
          },
          has_integers};
}
Row library(const char* function) {
  return {[=](Writer& w, DType t, const Names& x) { return w.call(function, t, x[0]); }};
}

Name write_sign(Writer& w, DType t, const Names& x) {
  const Name below = w.compare("olt", "slt", t, x[0], zero(t));
  const Name above = w.compare("ogt", "sgt", t, x[0], zero(t));
  const Name low = w.choose(below, t, Writer::number(t, -1), zero(t));
  Name sign = w.choose(above, t, one(t), low);
  if (!is_float(t)) {
    return sign;
  }
  const Name nan = w.compare("uno", "", t, x[0], x[0]);
  return w.choose(nan, t, x[0], sign);
}

const std::unordered_map<std::string, Row>& rows() {
  static const std::unordered_map<std::string, Row> table = {
      {"add", binary("fadd", "add")},
      {"subtract", binary("fsub", "sub")},
      {"multiply", binary("fmul", "mul")},
      {"divide", binary("fdiv", "sdiv", false)},
      {"minimum",
       {[](Writer& w, DType t, const Names& x) { return extreme(w, "olt", "slt", t, x); }, true,
        false, true}},
      {"maximum",
       {[](Writer& w, DType t, const Names& x) { return extreme(w, "ogt", "sgt", t, x); }, true,
        false, true}},
      {"equal", comparison("oeq", "eq", true)},
      {"not_equal", comparison("une", "ne", true)},
      {"less", comparison("olt", "slt", false)},
      {"less_equal", comparison("ole", "sle", false)},
      {"greater", comparison("ogt", "sgt", false)},
      {"greater_equal", comparison("oge", "sge", false)},
      {"logical_and", logic("and")},
      {"logical_or", logic("or")},
      {"logical_xor", logic("xor")},
      {"logical_not",
       {[](Writer& w, DType t, const Names& x) {
          const Name set = is_set(w, t, x[0]);
          return w.emit("xor i1 {}, true", set);
        },
        true, true}},
      {"is_finite", {[](Writer& w, DType t, const Names& x) {
         const Name rest = subtract(w, t, x[0], x[0]);
         return w.compare("oeq", "", t, rest, zero(t));
       }}},
      {"negate",
       {[](Writer& w, DType t, const Names& x) {
          return is_float(t) ? w.emit("fneg {} {}", register_type(t), x[0])
                             : subtract(w, t, zero(t), x[0]);
        },
        true, false, true}},
      {"abs",
       {[](Writer& w, DType t, const Names& x) {
          if (is_float(t)) {
            return w.call("fabs", t, x[0]);
          }
          const Name negative = w.compare("", "slt", t, x[0], zero(t));
          const Name turned = subtract(w, t, zero(t), x[0]);
          return w.choose(negative, t, turned, x[0]);
        },
        true, false, true}},
      {"sign", {write_sign, true, false, true}},
      {"square",
       {[](Writer& w, DType t, const Names& x) { return multiply(w, t, x[0], x[0]); }, true}},
      {"reciprocal",
       {[](Writer& w, DType t, const Names& x) { return divide(w, t, one(t), x[0]); }}},
      {"sqrt", library("sqrt")},
      {"rsqrt", {[](Writer& w, DType t, const Names& x) {
         const Name root = w.call("sqrt", t, x[0]);
         return divide(w, t, one(t), root);
       }}},
      {"floor", library("floor")},
      {"ceil", library("ceil")},
      {"round", library("rint")},
      {"relu",
       {[](Writer& w, DType t, const Names& x) {
          const Name low = w.compare("ole", "sle", t, x[0], zero(t));
          return w.choose(low, t, zero(t), x[0]);
        },
        true, false, true}},
      {"relu_gradient",
       {[](Writer& w, DType t, const Names& x) {
          const Name on = w.compare("ogt", "sgt", t, x[1], zero(t));
          return w.choose(on, t, x[0], zero(t));
        },
        false, false, true}},
      {"tanh_gradient", {[](Writer& w, DType t, const Names& x) {
         const Name square = multiply(w, t, x[1], x[1]);
         const Name slope = subtract(w, t, one(t), square);
         return multiply(w, t, x[0], slope);
       }}},
      {"sigmoid_gradient", {[](Writer& w, DType t, const Names& x) {
         const Name rest = subtract(w, t, one(t), x[1]);
         const Name slope = multiply(w, t, x[1], rest);
         return multiply(w, t, x[0], slope);
       }}},
  };
  return table;
}

Name write_cast(Writer& w, DType from, DType to, const Name& x) {
  const char *const a = register_type(from), *const b = register_type(to);
  if (from == to) {
    return x;
  }
  if (to == DType::boolean) {
    return is_set(w, from, x);
  }
  if (from == DType::boolean) {
    return is_float(to) ? w.emit("uitofp i1 {} to {}", x, b) : w.emit("zext i1 {} to {}", x, b);
  }
  if (is_float(from) && !is_float(to)) {  // saturates, NaN to 0
    return w.emit("call {} @llvm.fptosi.sat.{}.{}({} {})", b, b, from == DType::f64 ? "f64" : "f32",
                  a, x);
  }
  if (!is_float(from)) {
    if (!is_float(to)) {
      return w.emit("{} {} {} to {}", to == DType::i64 ? "sext" : "trunc", a, x, b);
    }
    const Name value = w.emit("sitofp {} {} to {}", a, x, b);
    return to == DType::bf16 ? w.round_to_bf16(value) : value;
  }
  if (to != DType::bf16) {
    return from == DType::bf16 && to == DType::f32
               ? x
               : w.emit("{} {} {} to {}", to == DType::f64 ? "fpext" : "fptrunc", a, x, b);
  }
  const Name narrow = from == DType::f64 ? w.emit("fptrunc double {} to float", x) : x;
  const Name rounded = w.round_to_bf16(narrow);
  const Name word = w.emit("bitcast float {} to i32", narrow);
  const Name upper = w.emit("and i32 {}, -65536", word);
  const Name quiet = w.emit("or i32 {}, 4194304", upper);
  const Name quiet_nan = w.emit("bitcast i32 {} to float", quiet);
  const Name nan = w.emit("fcmp uno float {}, {}", narrow, narrow);
  return w.choose(nan, DType::f32, quiet_nan, rounded);
}

}  // namespace

bool has_code(Op op) {
  const DType from = op.input(0).dtype(), to = op.output().dtype();
  for (Var input : op.inputs()) {
    if (!is_known(input.dtype())) {
      return false;
    }
  }
  const std::string& name = op.def().name;
  if (!is_known(to)) {
    return false;
  }
  if (name == "cast" || name == "select" || name == "clip") {
    return true;
  }
  const auto row = rows().find(name);
  return row != rows().end() &&
         (is_float(from) || (from == DType::boolean ? row->second.bools : row->second.integers));
}

CodeWriter::Name write_op(CodeWriter& w, Op op, const std::vector<CodeWriter::Name>& x) {
  const DType from = op.input(0).dtype(), to = op.output().dtype();
  const std::string& name = op.def().name;
  if (name == "cast") {
    return write_cast(w, from, to, x[0]);
  }
  if (name == "select") {
    return w.choose(x[0], to, x[1], x[2]);
  }
  if (name == "clip") {
    const Name low = Writer::number(to, op.attrs().get<double>("low"));
    const Name high = Writer::number(to, op.attrs().get<double>("high"));
    const Name above = w.compare("ogt", "", to, x[0], high);
    const Name cut = w.choose(above, to, high, x[0]);
    const Name below = w.compare("olt", "", to, x[0], low);
    const Name result = w.choose(below, to, low, cut);
    return to == DType::bf16 ? w.round_to_bf16(result) : result;
  }
  const Row& row = rows().at(name);
  const Name result = row.write(w, from, x);
  return to == DType::bf16 && !row.exact ? w.round_to_bf16(result) : result;
}

}  // namespace antichain::cpu
