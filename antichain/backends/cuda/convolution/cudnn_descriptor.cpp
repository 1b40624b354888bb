#include "antichain/backends/cuda/convolution/cudnn_descriptor.h"

#include "antichain/base/error.h"

namespace antichain::cuda {

const Cudnn& cudnn() {
  static const Cudnn functions{.library = DynamicLibrary(ANTICHAIN_CUDNN_FILE)};
  return functions;
}

void check(cudnnStatus_t status, const char* doing) {
  if (status != CUDNN_STATUS_SUCCESS) {
    fail<DeviceError>("the GPU failed while {}: {}", doing, cudnn().cudnnGetErrorString(status));
  }
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnn().cudnnBackendCreateDescriptor(type, &handle_), "planning a convolution");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) {
    static_cast<void>(cudnn().cudnnBackendDestroyDescriptor(handle_));
  }
}

void CudnnDescriptor::set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                              std::int64_t count, const void* values) {
  check(cudnn().cudnnBackendSetAttribute(handle_, name, type, count, values),
        "planning a convolution");
}

void CudnnDescriptor::finish() {
  check(cudnn().cudnnBackendFinalize(handle_), "planning a convolution");
}

bool CudnnDescriptor::try_finish() {
  return cudnn().cudnnBackendFinalize(handle_) == CUDNN_STATUS_SUCCESS;
}

}  // namespace antichain::cuda
