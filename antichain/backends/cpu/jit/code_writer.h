// Writes LLVM code for values of our element types, an instruction at a time.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

// Types of values in memory and in registers: bf16 is computed as float, bool as a bit.
inline const char* memory_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return "double";
    case DType::bf16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::boolean: return "i8";
    default: return "float";
  }
}
inline const char* register_type(DType dtype) {
  return dtype == DType::bf16 ? "float" : dtype == DType::boolean ? "i1" : memory_type(dtype);
}

// Writes instructions; every one makes a new name.
class CodeWriter {
 public:
  using Name = std::string;

  /// With `contract`, multiplications and additions of floats may be done at once.
  explicit CodeWriter(bool contract = false) : float_flags_(contract ? "contract " : "") {}

  template <class... Args>
  Name emit(fmt::format_string<Args...> format, Args&&... args) {
    Name name = fmt::format("%t{}", next_++);
    text_ += "  " + name + " = " + fmt::format(format, std::forward<Args>(args)...) + "\n";
    return name;
  }
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  const std::string& text() const { return text_; }

  // An f32 is written as the double of the same value; so are its 64 bits.
  static Name number(DType dtype, double value) {
    if (dtype == DType::boolean) {
      return value != 0 ? "true" : "false";
    }
    if (!is_float(dtype)) {
      return fmt::format("{}", static_cast<std::int64_t>(value));
    }
    const double exact =
        dtype == DType::f64 ? value : static_cast<double>(static_cast<float>(value));
    return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(exact));
  }

  // An operation of LLVM for floats or one for integers.
  Name arithmetic(const char* floats, const char* integers, DType dtype, const Name& a,
                  const Name& b) {
    return is_float(dtype)
               ? emit("{} {}{} {}, {}", floats, float_flags_, register_type(dtype), a, b)
               : emit("{} {} {}, {}", integers, register_type(dtype), a, b);
  }

  Name choose(const Name& condition, DType dtype, const Name& yes, const Name& no) {
    const char* const type = register_type(dtype);
    return emit("select i1 {}, {} {}, {} {}", condition, type, yes, type, no);
  }

  // Compares by an LLVM predicate for floats and one for integers.
  Name compare(const char* floats, const char* integers, DType dtype, const Name& a,
               const Name& b) {
    return is_float(dtype) ? emit("fcmp {} {} {}, {}", floats, register_type(dtype), a, b)
                           : emit("icmp {} {} {}, {}", integers, register_type(dtype), a, b);
  }

  Name call(const char* function, DType dtype, const Name& x) {
    const char* const type = register_type(dtype);
    return emit("call {} @llvm.{}.{}({} {})", type, function, dtype == DType::f64 ? "f64" : "f32",
                type, x);
  }

  // To nearest even; right for a NaN that was one or comes from arithmetic.
  Name round_to_bf16(const Name& x) {
    const Name word = emit("bitcast float {} to i32", x);
    const Name up = emit("lshr i32 {}, 16", word);
    const Name odd = emit("and i32 {}, 1", up);
    const Name half = emit("add i32 {}, 32767", odd);
    const Name rounded = emit("add i32 {}, {}", word, half);
    const Name kept = emit("and i32 {}, -65536", rounded);
    return emit("bitcast i32 {} to float", kept);
  }

  Name load(DType dtype, const std::string& from) {
    const Name at = emit("getelementptr inbounds {}, ptr {}, i64 %i", memory_type(dtype), from);
    Name raw = emit("load {}, ptr {}, !llvm.access.group !0", memory_type(dtype), at);
    if (dtype == DType::boolean) {
      return emit("icmp ne i8 {}, 0", raw);
    }
    if (dtype == DType::bf16) {
      const Name wide = emit("zext i16 {} to i32", raw);
      const Name word = emit("shl i32 {}, 16", wide);
      return emit("bitcast i32 {} to float", word);
    }
    return raw;
  }

  void store(DType dtype, const Name& value, const std::string& to) {
    const Name at = emit("getelementptr inbounds {}, ptr {}, i64 %i", memory_type(dtype), to);
    Name raw = value;
    if (dtype == DType::boolean) {
      raw = emit("zext i1 {} to i8", value);
    } else if (dtype == DType::bf16) {
      const Name word = emit("bitcast float {} to i32", value);
      const Name upper = emit("lshr i32 {}, 16", word);
      raw = emit("trunc i32 {} to i16", upper);
    }
    line("  store {} {}, ptr {}, !llvm.access.group !0", memory_type(dtype), raw, at);
  }

 private:
  std::string text_;
  int next_ = 0;
  const char* float_flags_;
};

}  // namespace antichain::cpu
