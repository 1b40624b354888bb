// A handle of cuDNN whose stream is refused. The library is played by three functions.
#include "antichain/backends/cuda/convolution/cudnn_handle.h"

#include <gtest/gtest.h>

#include "antichain/base/error.h"

namespace antichain::cuda::cudnn_handle_test {

int made, destroyed;  // handles

cudnnStatus_t create(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&made);
  ++made;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t refuse(cudnnHandle_t* /*handle*/) { return CUDNN_STATUS_NOT_INITIALIZED; }
cudnnStatus_t destroy(cudnnHandle_t handle) {
  EXPECT_EQ(handle, reinterpret_cast<cudnnHandle_t>(&made));
  ++destroyed;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t take(cudnnHandle_t /*handle*/, cudaStream_t /*stream*/) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t fail_to_take(cudnnHandle_t /*handle*/, cudaStream_t /*stream*/) {
  return CUDNN_STATUS_BAD_PARAM;
}

struct Functions {
  decltype(&::cudnnCreate) cudnnCreate = create;
  decltype(&::cudnnSetStream) cudnnSetStream = take;
  decltype(&::cudnnDestroy) cudnnDestroy = destroy;
};

class CudnnHandles : public testing::Test {
 protected:
  void SetUp() override { made = destroyed = 0; }
};

TEST_F(CudnnHandles, AreDestroyedOnce) {
  {
    const CudnnHandle handle = make_cudnn_handle(Functions{}, nullptr);
    EXPECT_NE(handle, nullptr);
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CudnnHandles, AreDestroyedWhenTheStreamIsRefused) {
  EXPECT_THROW(make_cudnn_handle(Functions{.cudnnSetStream = fail_to_take}, nullptr), DeviceError);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(destroyed, 1);
}

TEST_F(CudnnHandles, ThatWereNotMadeAreNotDestroyed) {
  EXPECT_THROW(make_cudnn_handle(Functions{.cudnnCreate = refuse}, nullptr), DeviceError);
  EXPECT_EQ(destroyed, 0);
}

}  // namespace antichain::cuda::cudnn_handle_test
