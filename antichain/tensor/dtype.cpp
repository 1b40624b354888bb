#include "antichain/tensor/dtype.h"

#include <array>

#include "antichain/base/error.h"

namespace antichain {

namespace {
constexpr std::array<std::string_view, kNumDTypes> kNames = {"f32", "f64", "bf16", "f16", "i8",
                                                             "i32", "i64", "u8",   "bool"};
}

std::string_view name(DType dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

DType parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<DType>(i);
    }
  }
  fail<TypeError>("unknown element type '{}'; use f32, f64, bf16, f16, i8, i32, i64, u8 or bool",
                  name);
}

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, [](auto element) { return sizeof(element); });
}

std::vector<DType> DTypeSet::members() const {
  std::vector<DType> result;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (contains(dtype)) {
      result.push_back(dtype);
    }
  }
  return result;
}

}  // namespace antichain
