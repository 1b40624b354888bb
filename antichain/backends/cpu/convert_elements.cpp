#include "antichain/backends/cpu/convert_elements.h"

#include "antichain/backends/cpu/parallel.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements per range

}  // namespace

void convert_elements(const Tensor& from, const Tensor& to) {
  visit_dtype(from.dtype(), [&](auto source) {
    visit_dtype(to.dtype(), [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const From* in = from.data<From>();
      To* out = to.data<To>();
      parallel_ranges(from.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          out[i] = convert<To>(in[i]);
        }
      });
    });
  });
}

}  // namespace antichain::cpu
