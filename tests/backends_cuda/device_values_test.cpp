// Values that stay on a GPU: results that are fed again, tensors that another library still
// computes on a stream of its own.
#include <cuda_runtime_api.h>
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/runtime/foreign_tensor.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::device_values_test {

class CudaDeviceValues : public GpuTest {};

// Newton's method for square roots. The first run goes kernel by kernel, the next is recorded.
TEST_F(CudaDeviceValues, ResultsAreFedAgain) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  Executable run = session.compile({0.5 * (x + 2 / x), sum(x)});
  run.set_results_on_device(true);
  Tensor value = Tensor::full(f32, {1000}, 1);
  for (int i = 0; i < 6; ++i) {
    const Results results = run({{"x", value}});
    ASSERT_EQ(results[0].device(), session.backend().device());
    value = results[0];
  }
  for (const float root : session.backend().to_host(value).to_vector<float>()) {
    EXPECT_NEAR(root, std::sqrt(2.0F), 1e-6);
  }
  run.set_results_on_device(false);
  EXPECT_NEAR(run({{"x", value}})[1].item<float>(), 1000 * std::sqrt(2.0F), 0.01);
}

TEST_F(CudaDeviceValues, ResultsAreTheCallersOwn) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  Executable run = session.compile({graph.input("x", f32, {3}) * 2});
  run.set_results_on_device(true);
  std::vector<Tensor> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(run({{"x", Tensor::full(f32, {3}, i)}})[0]);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(session.backend().to_host(kept[static_cast<std::size_t>(i)]).to_vector<float>(),
              std::vector<float>(3, static_cast<float>(2 * i)));
  }
}

void expect_success(cudaError_t status) {
  ASSERT_EQ(status, cudaSuccess) << cudaGetErrorString(status);
}

// Another library: memory, a stream that is slow, and a tensor of it.
struct OtherLibrary {
  static constexpr std::int64_t kCount = 1 << 16;
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  OtherLibrary() {
    expect_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    expect_success(cudaMalloc(reinterpret_cast<void**>(&memory), kBytes));
    expect_success(cudaMallocHost(reinterpret_cast<void**>(&numbers), kBytes));
    expect_success(cudaMemset(memory, 0, kBytes));
    expect_success(cudaDeviceSynchronize());
  }
  ~OtherLibrary() {
    static_cast<void>(cudaStreamSynchronize(stream));
    static_cast<void>(cudaFree(memory));
    static_cast<void>(cudaFreeHost(numbers));
    static_cast<void>(cudaStreamDestroy(stream));
  }
  OtherLibrary(const OtherLibrary&) = delete;
  OtherLibrary& operator=(const OtherLibrary&) = delete;

  // Enqueues numbers that come late. From pageable memory the copy would wait here.
  void compute(float number) {
    std::fill_n(numbers, kCount, number);
    expect_success(cudaLaunchHostFunc(
        stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); },
        nullptr));
    expect_success(cudaMemcpyAsync(memory, numbers, kBytes, cudaMemcpyHostToDevice, stream));
  }
  // Its next use of the memory.
  void overwrite() { expect_success(cudaMemsetAsync(memory, 0, kBytes, stream)); }

  DLManagedTensor* tensor() {
    managed.dl_tensor = {.data = memory,
                         .device = {kDLCUDA, 0},
                         .ndim = 1,
                         .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
                         .shape = &count,
                         .strides = nullptr,
                         .byte_offset = 0};
    managed.deleter = [](DLManagedTensor*) {};
    return &managed;
  }

  cudaStream_t stream = nullptr;
  float *memory = nullptr, *numbers = nullptr;
  std::int64_t count = kCount;
  DLManagedTensor managed{};
};

TEST_F(CudaDeviceValues, OfAnotherLibraryAreReadBehindItsStream) {
  Session session({.device = "cuda:0"});
  Graph graph = session.graph();
  const Executable run = session.compile({sum(graph.input("x", f32, {"n"}))});
  OtherLibrary other;
  for (int round = 1; round <= 4; ++round) {  // kernel by kernel, recorded, replayed
    other.compute(static_cast<float>(round));
    Results results;
    {
      const Tensor x = from_dlpack(other.tensor(), session.backend(), other.stream);
      run.start_into(results, {{"x", x}});
    }
    other.overwrite();  // behind the run, though nobody has waited for it
    EXPECT_EQ(results.item(), static_cast<double>(round) * OtherLibrary::kCount);
  }
}

}  // namespace antichain::device_values_test
