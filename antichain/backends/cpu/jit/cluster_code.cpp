#include "antichain/backends/cpu/jit/cluster_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "antichain/backends/cpu/jit/code_writer.h"

namespace antichain::cpu {

namespace {

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

using Writer = CodeWriter;
using Name = Writer::Name;
using Names = std::vector<Name>;

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

Name write_op(Writer& w, Op op, const Names& x) {
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

bool is_arithmetic(const Cluster::Step& step) {
  const std::string& name = step.op.def().name;
  return name == "add" || name == "subtract" || name == "multiply" || name == "divide";
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::abs(std::frexp(value, &exponent)) == 0.5;
}

// Which numbers are part of the code, because that makes it faster: dividing by a power of two is
// multiplying, adding 0 may be nothing, and a comparison need not mind a NaN that cannot be. Other
// numbers in arithmetic alone are as good as unknown ones.
std::vector<bool> find_literals(const Cluster& cluster) {
  const bool compares = !std::ranges::all_of(cluster.steps, is_arithmetic);
  std::vector<bool> literals;
  for (const Tensor& number : cluster.numbers) {
    const double value = number.cast(DType::f64).item<double>();
    literals.push_back(compares || !is_float(number.dtype()) || !std::isfinite(value) ||
                       value == 0 || is_power_of_two(value));
  }
  return literals;
}

Name write_literal(const Tensor& number) {
  return is_float(number.dtype()) || number.dtype() == DType::boolean
             ? Writer::number(number.dtype(), number.cast(DType::f64).item<double>())
             : fmt::format("{}", number.cast(DType::i64).item<std::int64_t>());
}

// Reads the numbers that are given, as doubles, and returns the names of all.
Names write_numbers(Writer& w, const Cluster& cluster) {
  const std::vector<bool> literals = find_literals(cluster);
  Names names;
  int given = 0;
  for (std::size_t n = 0; n < literals.size(); ++n) {
    if (literals[n]) {
      names.push_back(write_literal(cluster.numbers[n]));
      continue;
    }
    if (given == 0) {
      w.line("  %given.at = getelementptr ptr, ptr %in, i64 {}", cluster.inputs.size());
      w.line("  %given = load ptr, ptr %given.at");
    }
    const Name at = w.emit("getelementptr double, ptr %given, i64 {}", given++);
    const Name wide = w.emit("load double, ptr {}", at);
    names.push_back(cluster.numbers[n].dtype() == DType::f64
                        ? wide
                        : w.emit("fptrunc double {} to float", wide));  // which is exact
  }
  return names;
}

constexpr const char* kDeclarations = R"(
declare float @llvm.fabs.f32(float)
declare double @llvm.fabs.f64(double)
declare float @llvm.sqrt.f32(float)
declare double @llvm.sqrt.f64(double)
declare float @llvm.floor.f32(float)
declare double @llvm.floor.f64(double)
declare float @llvm.ceil.f32(float)
declare double @llvm.ceil.f64(double)
declare float @llvm.rint.f32(float)
declare double @llvm.rint.f64(double)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i64 @llvm.fptosi.sat.i64.f32(float)
declare i32 @llvm.fptosi.sat.i32.f64(double)
declare i64 @llvm.fptosi.sat.i64.f64(double)

; No access of one round depends on another round's: an output that is the memory of an input is so
; element for element.
!0 = distinct !{}
!1 = distinct !{!1, !2, !3}
!2 = !{!"llvm.loop.parallel_accesses", !0}
!3 = !{!"llvm.loop.vectorize.enable", i1 true}
)";

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

std::string cluster_code(const Cluster& cluster) {
  Writer w(cluster.contract);
  w.line("define void @{}(ptr %in, ptr %out, i64 %count) {{", kClusterFunction);
  w.line("entry:");
  for (std::size_t n = 0; n < cluster.inputs.size(); ++n) {
    w.line("  %in{}.at = getelementptr ptr, ptr %in, i64 {}", n, n);
    w.line("  %in{} = load ptr, ptr %in{}.at", n, n);
  }
  int outputs = 0;
  for (const Cluster::Step& step : cluster.steps) {
    if (step.is_output) {
      w.line("  %out{}.at = getelementptr ptr, ptr %out, i64 {}", outputs, outputs);
      w.line("  %out{} = load ptr, ptr %out{}.at", outputs, outputs);
      ++outputs;
    }
  }
  const Names numbers = write_numbers(w, cluster);
  w.line("  %some = icmp sgt i64 %count, 0");
  w.line("  br i1 %some, label %loop, label %end");
  w.line("loop:");
  w.line("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]");
  Names values;
  for (std::size_t n = 0; n < cluster.inputs.size(); ++n) {
    values.push_back(w.load(cluster.inputs[n], fmt::format("%in{}", n)));
  }
  values.insert(values.end(), numbers.begin(), numbers.end());
  std::vector<std::pair<DType, Name>> results;
  for (const Cluster::Step& step : cluster.steps) {
    Names operands;
    for (const int operand : step.operands) {
      operands.push_back(values[static_cast<std::size_t>(operand)]);
    }
    values.push_back(write_op(w, step.op, operands));
    if (step.is_output) {
      results.emplace_back(step.op.output().dtype(), values.back());
    }
  }
  // After all loads, because an output may be the memory of an input.
  for (std::size_t n = 0; n < results.size(); ++n) {
    w.store(results[n].first, results[n].second, fmt::format("%out{}", n));
  }
  w.line("  %next = add nuw nsw i64 %i, 1");
  w.line("  %more = icmp slt i64 %next, %count");
  w.line("  br i1 %more, label %loop, label %end, !llvm.loop !1");
  w.line("end:");
  w.line("  ret void");
  w.line("}}");
  return w.text() + kDeclarations;
}

std::vector<double> given_numbers(const Cluster& cluster) {
  const std::vector<bool> literals = find_literals(cluster);
  std::vector<double> given;
  for (std::size_t n = 0; n < literals.size(); ++n) {
    if (!literals[n]) {
      given.push_back(cluster.numbers[n].cast(DType::f64).item<double>());
    }
  }
  return given;
}

}  // namespace antichain::cpu
