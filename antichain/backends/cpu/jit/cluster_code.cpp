#include "antichain/backends/cpu/jit/cluster_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "antichain/backends/cpu/jit/code_writer.h"
#include "antichain/backends/cpu/jit/op_code.h"

namespace antichain::cpu {

namespace {

using Writer = CodeWriter;
using Name = Writer::Name;
using Names = std::vector<Name>;

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
