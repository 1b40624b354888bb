#include "antichain/backends/cuda/elementwise/element_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cctype>
#include <optional>
#include <vector>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::cuda {

namespace {

std::string float_code(DType dtype, double value) {
  return dtype == DType::f64
             ? fmt::format("__longlong_as_double(0x{:016X}LL)", std::bit_cast<std::uint64_t>(value))
             : fmt::format("__int_as_float(0x{:08X})",
                           std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

std::string number_code(const Tensor& number) {
  const DType dtype = number.dtype();
  if (is_float(dtype)) {
    return float_code(dtype, number.item<double>());
  }
  return dtype == DType::boolean
             ? (number.item<bool>() ? "true" : "false")
             : fmt::format("(long long)0x{:X}ULL",
                           static_cast<std::uint64_t>(number.item<std::int64_t>()));
}

// a * b + c rounded once, if the op adds or subtracts such a product of floats that are computed in
// their own precision.
std::optional<std::string> contracted_code(Op op, const ValueNames& names) {
  const DType dtype = op.output().dtype();
  const bool subtracts = op.def().name == "subtract";
  if ((!subtracts && &op.def() != &add_def()) || (dtype != DType::f32 && dtype != DType::f64)) {
    return std::nullopt;
  }
  for (const int i : {0, 1}) {
    const Var product = op.input(i);
    if (op.graph().is_region_param(product) || &product.producer().def() != &multiply_def()) {
      continue;
    }
    const Op factors = product.producer();
    const bool minus_product = subtracts && i == 1, minus_other = subtracts && i == 0;
    return fmt::format("{}({}{}, {}, {}{})", dtype == DType::f64 ? "__fma_rn" : "__fmaf_rn",
                       minus_product ? "-" : "", names.at(factors.input(0).id()),
                       names.at(factors.input(1).id()), minus_other ? "-" : "",
                       names.at(op.input(1 - i).id()));
  }
  return std::nullopt;
}

}  // namespace

std::string camel_case(std::string_view name) {
  std::string result;
  bool capital = true;
  for (const char letter : name) {
    if (letter != '_') {
      result +=
          capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    }
    capital = letter == '_';
  }
  return result;
}

std::string_view storage_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i8: return "signed char";
    case DType::i32: return "int";
    case DType::i64: return "long long";
    case DType::u8: return "unsigned char";
    case DType::boolean: break;
  }
  return "bool";
}

std::string element_code(Op op, const ValueNames& names, bool contract) {
  if (&op.def() == &constant_def()) {
    return number_code(op.attrs().get<Tensor>("value"));
  }
  if (contract) {
    if (const std::optional<std::string> code = contracted_code(op, names)) {
      return *code;
    }
  }
  std::vector<std::string> operands;
  for (Var input : op.inputs()) {
    operands.push_back(names.at(input.id()));
  }
  const DType to = op.output().dtype();
  const std::string_view storage = storage_type(to);
  if (&op.def() == &cast_def()) {
    return fmt::format("cast_to<{}>({})", storage, operands[0]);
  }
  if (&op.def() == &select_def()) {
    return fmt::format("({} ? {} : {})", operands[0], operands[1], operands[2]);
  }
  if (&op.def() == &clip_def()) {
    return fmt::format("rounded<{}>(clipped({}, {}, {}))", storage, operands[0],
                       float_code(to, op.attrs().get<double>("low")),
                       float_code(to, op.attrs().get<double>("high")));
  }
  if (to == DType::bf16 && op.def().name == "divide") {
    return fmt::format("rounded<bf16>(near_quotient({}))", fmt::join(operands, ", "));
  }
  return fmt::format("rounded<{}>(functors::{}()({}))", storage, camel_case(op.def().name),
                     fmt::join(operands, ", "));
}

}  // namespace antichain::cuda
