#include "antichain/backends/cuda/strided_copy.h"

#include <fmt/format.h>

namespace antichain::cuda {

namespace {

Launch make_launch(const Context& device, const StridedLoop& loop, std::size_t bytes) {
  std::vector<std::int64_t> slots = loop.slots();
  slots.resize(slots.size() + 2);
  return {device, strided_copy_text(loop, bytes), "strided_copy", loop.count, std::move(slots)};
}

}  // namespace

std::string strided_copy_text(const StridedLoop& loop, std::size_t bytes) {
  std::string text = "using Index = long long;\nstruct Arguments {\n" + loop.members_code();
  text += fmt::format("  {0}* to;\n  const {0}* from;\n}};\n", word_type(bytes));
  text += "extern \"C\" __global__ void strided_copy(const Arguments a) {\n";
  text += "  const Index step = (Index)gridDim.x * blockDim.x;\n";
  text +=
      "  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) "
      "{\n";
  text += loop.positions_code();
  return text + fmt::format("    a.to[{}] = a.from[{}];\n  }}\n}}\n", loop.place_code(0),
                            loop.place_code(1));
}

std::string_view word_type(std::size_t bytes) {
  return bytes == 1   ? "unsigned char"
         : bytes == 2 ? "unsigned short"
         : bytes == 4 ? "unsigned"
                      : "unsigned long long";
}

StridedCopy::StridedCopy(const Context& device, const Layout& to, const Layout& from,
                         std::size_t element_bytes)
    : launch_(
          make_launch(device, StridedLoop(to.shape, {to.strides, from.strides}), element_bytes)),
      first_slot_(StridedLoop(to.shape, {to.strides, from.strides}).slots().size()),
      to_bytes_(to.offset * static_cast<std::int64_t>(element_bytes)),
      from_bytes_(from.offset * static_cast<std::int64_t>(element_bytes)) {}

void StridedCopy::run(void* to, const void* from) {
  launch_.set(first_slot_, static_cast<const std::byte*>(to) + to_bytes_);
  launch_.set(first_slot_ + 1, static_cast<const std::byte*>(from) + from_bytes_);
  launch_.run();
}

}  // namespace antichain::cuda
