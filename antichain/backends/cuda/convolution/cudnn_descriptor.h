// Descriptors of cuDNN's graph interface: objects with attributes, of which plans are made.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <span>
#include <vector>

#include "antichain/backends/cuda/core/dynamic_library.h"

namespace antichain::cuda {

/// The functions of the library, which is loaded when they are first used.
struct Cudnn {
  DynamicLibrary library;
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendCreateDescriptor);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendDestroyDescriptor);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendExecute);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendFinalize);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendGetAttribute);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnBackendSetAttribute);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnCreate);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnDestroy);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnGetErrorString);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnGetVersion);
  ANTICHAIN_LIBRARY_FUNCTION(cudnnSetStream);
};
const Cudnn& cudnn();

/// Throws DeviceError unless a call succeeded; `doing` completes "while ...".
void check(cudnnStatus_t status, const char* doing);

class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : handle_(other.handle_) {
    other.handle_ = nullptr;
  }
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  cudnnBackendDescriptor_t handle() const { return handle_; }

  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set_all(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set_all(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& part) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.handle_);
  }
  /// Makes it ready; throws DeviceError where the library refuses.
  void finish();
  /// Makes it ready and returns whether the library agrees.
  bool try_finish();

 private:
  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               std::int64_t count, const void* values);

  cudnnBackendDescriptor_t handle_ = nullptr;
};

}  // namespace antichain::cuda
