// Headers for kernels, as text inside of the program: nothing of Antichain's sources need be there
// when it runs. CMakeLists.txt lists them.
#pragma once

#include <span>

namespace antichain::cuda {

struct DeviceSource {
  const char* name;  // as it is included
  const char* text;
};
std::span<const DeviceSource> device_sources();

}  // namespace antichain::cuda
