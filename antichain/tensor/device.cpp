#include "antichain/tensor/device.h"

#include <optional>

#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"

namespace antichain {

std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device parse_device(std::string_view text) {
  constexpr std::string_view kIndexedCuda = "cuda:";
  if (text == "cpu") {
    return {};
  }
  if (text == "cuda") {
    return {.kind = DeviceKind::cuda};
  }
  if (text.starts_with(kIndexedCuda)) {
    const std::string_view digits = text.substr(kIndexedCuda.size());
    if (const std::optional<int> index = parse_number<int>(digits); index && *index >= 0) {
      return {.kind = DeviceKind::cuda, .index = *index};
    }
  }
  fail<InvalidArgument>("unknown device '{}'; use cpu, cuda or cuda:N", text);
}

}  // namespace antichain
