#include "antichain/backends/cuda/element_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cctype>

#include "antichain/ops/elementwise.h"

namespace antichain::cuda {

namespace {

std::string float_code(DType dtype, double value) {
  return dtype == DType::f64
             ? fmt::format("__longlong_as_double(0x{:016X}LL)", std::bit_cast<std::uint64_t>(value))
             : fmt::format("__int_as_float(0x{:08X})",
                           std::bit_cast<std::uint32_t>(static_cast<float>(value)));
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

std::string element_code(Op op, std::span<const std::string> operands) {
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
  return fmt::format("rounded<{}>(functors::{}()({}))", storage, camel_case(op.def().name),
                     fmt::join(operands, ", "));
}

}  // namespace antichain::cuda
