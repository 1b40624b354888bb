#include "antichain/backends/cpu/elementwise/convert_elements.h"

#include "antichain/backends/cpu/threads/parallel.h"

namespace antichain::cpu {

namespace {

// The element at a position.
template <class Byte>
Byte* element_at(Byte* start, std::int64_t position, DType dtype) {
  return start + position * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

void convert_elements(const void* from, DType from_type, void* to, DType to_type,
                      std::int64_t count) {
  visit_dtype(from_type, [&](auto source) {
    visit_dtype(to_type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const From* in = static_cast<const From*>(from);
      To* out = static_cast<To*>(to);
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = convert<To>(in[i]);
      }
    });
  });
}

void convert_elements(const Tensor& from, const Tensor& to) {
  const auto* const in = static_cast<const std::byte*>(from.raw());
  auto* const out = static_cast<std::byte*>(to.raw());
  parallel_ranges(from.numel(), kElementGrain, [&](std::int64_t first, std::int64_t last) {
    convert_elements(element_at(in, first, from.dtype()), from.dtype(),
                     element_at(out, first, to.dtype()), to.dtype(), last - first);
  });
}

}  // namespace antichain::cpu
