#include "antichain/backends/cuda/core/device_context.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/base/byte_size.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::cuda {

DeviceContext::DeviceContext(int index) : index_(index) {
  require_device(index);
  use();
  stream_ = make_stream();
  aside_ = make_stream();
  const auto attribute = [index](cudaDeviceAttr name) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, name, index), "asking for its kind");
    return value;
  };
  multiprocessors_ = attribute(cudaDevAttrMultiProcessorCount);
  most_shared_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  // Memory that is given back stays with the process: the next plan takes it again.
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, index), "asking for its memory");
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
        "setting up its memory");
  report_ = std::make_unique<IndexReport>();
  pinned_ = std::make_unique<PinnedPool>();
  preparation_ = std::make_unique<Preparation>();
  code_ = std::make_unique<CodeLoader>(10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                                           attribute(cudaDevAttrComputeCapabilityMinor),
                                       *preparation_);
}

DeviceContext::Stream DeviceContext::make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return Stream(stream);
}

DeviceContext::~DeviceContext() {
  // The GPU may be lost by now; there is nobody left to tell.
  static_cast<void>(cudaStreamSynchronize(stream()));
  code_.reset();
  pinned_.reset();
}

void DeviceContext::use() const { check(cudaSetDevice(index_), "choosing it"); }

std::shared_ptr<Buffer> DeviceContext::allocate(const std::shared_ptr<const DeviceContext>& context,
                                                std::size_t bytes) {
  const auto held = context->hold();
  context->use();
  void* data = nullptr;
  if (bytes > 0) {
    auto* const stream = context->recording_ ? context->aside_.get() : context->stream();
    const cudaError_t status = cudaMallocAsync(&data, bytes, stream);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      check(cudaMemGetInfo(&free, &total), "asking for its memory");
      fail<OutOfMemory>("out of memory on {}: {} more do not fit, {} of {} are free",
                        to_string(context->device()), bytes_text(static_cast<std::int64_t>(bytes)),
                        bytes_text(static_cast<std::int64_t>(free)),
                        bytes_text(static_cast<std::int64_t>(total)));
    }
    check(status, "allocating memory");
    if (context->recording_) {  // the other stream will not wait for this one
      check(cudaStreamSynchronize(context->aside_.get()), "allocating memory");
    }
  }
  return std::make_shared<Buffer>(data, bytes, context->device(),
                                  [context, data] { context->free(data); });
}

void DeviceContext::free(void* data) const noexcept {
  if (data == nullptr) {
    return;
  }
  const auto held = hold();
  if (recording_) {
    to_free_.push_back(data);
  } else {
    static_cast<void>(cudaFreeAsync(data, stream()));  // the GPU may be lost by now
  }
}

void DeviceContext::start_recording() const {
  use();
  // Other threads may do what they like with other streams.
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "recording kernels");
  recording_ = true;
}

DeviceContext::Recorded DeviceContext::stop_recording() const {
  Recorded recorded{.status = cudaSuccess, .graph = nullptr, .memory = std::move(to_free_)};
  recorded.status = cudaStreamEndCapture(stream(), &recorded.graph);
  recording_ = false;
  to_free_.clear();
  return recorded;
}

std::shared_ptr<Buffer> DeviceContext::allocate_zeros(
    const std::shared_ptr<const DeviceContext>& context, std::size_t bytes) {
  auto memory = allocate(context, bytes);
  context->fill(memory->data(), 0, memory->bytes());
  return memory;
}

void DeviceContext::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
  if (bytes == 0) {
    return;
  }
  const auto held = hold();
  use();
  if (kind == cudaMemcpyHostToDevice) {
    copy_from_host(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    return;
  }
  check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "copying memory");
  if (kind == cudaMemcpyDeviceToHost) {
    finish();
  }
}

cudaError_t DeviceContext::order(cudaStream_t later, cudaStream_t earlier) const noexcept {
  const auto held = hold();
  cudaError_t status = cudaSetDevice(index_);
  cudaEvent_t reached = nullptr;
  if (status == cudaSuccess) {
    status = cudaEventCreateWithFlags(&reached, cudaEventDisableTiming);
  }
  if (status != cudaSuccess) {
    return status;
  }
  status = cudaEventRecord(reached, earlier);
  if (status == cudaSuccess) {
    status = cudaStreamWaitEvent(later, reached, 0);
  }
  static_cast<void>(cudaEventDestroy(reached));  // what waits for it goes on waiting
  return status;
}

void DeviceContext::copy_from_host(std::byte* to, const std::byte* from, std::size_t bytes) const {
  for (std::size_t done = 0; done < bytes; done += PinnedPiece::kBytes) {
    const std::size_t part = std::min(bytes - done, PinnedPiece::kBytes);
    const PinnedLease piece = pinned_->borrow();
    std::memcpy(piece->data(), from + done, part);
    check(cudaMemcpyAsync(to + done, piece->data(), part, cudaMemcpyHostToDevice, stream()),
          "copying memory");
    piece->use_until_now(stream());
  }
}

void DeviceContext::fill(void* data, unsigned char byte, std::size_t bytes) const {
  if (bytes == 0) {
    return;
  }
  const auto held = hold();
  use();
  check(cudaMemsetAsync(data, byte, bytes, stream()), "setting memory");
}

void DeviceContext::finish() const {
  const auto held = hold();
  use();
  check(cudaStreamSynchronize(stream()), "running kernels");
  report_->check();
}

void DeviceContext::end_run() const {
  const auto held = hold();
  use();
  report_->end_run(stream());
}

Context shared_context(int index) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const DeviceContext>> contexts;
  const std::lock_guard<std::mutex> lock(mutex);
  Context context = contexts[index].lock();
  if (context == nullptr) {
    context = std::make_shared<DeviceContext>(index);
    contexts[index] = context;
  }
  return context;
}

}  // namespace antichain::cuda
