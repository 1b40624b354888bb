#include "antichain/backends/cuda/core/dynamic_library.h"

#include <dlfcn.h>

#include "antichain/base/error.h"

namespace antichain::cuda {

DynamicLibrary::DynamicLibrary(const std::string& file) : file_(file) {
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    handle_ =
        dlopen((std::string(ANTICHAIN_CUDA_LIBRARIES) + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  require<DeviceError>(handle_ != nullptr,
                       "the cuda backend needs {}, which cannot be loaded: {}; install the CUDA "
                       "toolkit, or use device 'cpu'",
                       file, handle_ == nullptr ? dlerror() : "");
}

void* DynamicLibrary::address_of(const char* name) const {
  void* const address = dlsym(handle_, name);
  require<DeviceError>(address != nullptr, "{} has no function {}: it is too old", file_, name);
  return address;
}

}  // namespace antichain::cuda
