// DeviceContext: one GPU with the stream that all work of a backend goes through, in order.
//
// Kernels are enqueued and run later, and so are copies from the host, of bytes that were put aside
// (pinned_pool.h); only copies to the host wait. Memory comes from the stream's
// pool, so that giving it back waits for nobody either.
//
// Threads may share a GPU: each of them holds it while it enqueues what belongs together, a run for
// example. So nobody's work lands in what another thread records, and libraries see one caller at a
// time.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <vector>

#include "antichain/backends/cuda/core/code_loader.h"
#include "antichain/backends/cuda/core/pinned_pool.h"
#include "antichain/backends/cuda/core/preparation.h"
#include "antichain/backends/cuda/indexing/index_report.h"
#include "antichain/tensor/tensor_memory.h"

namespace antichain::cuda {

class DeviceContext {
 public:
  explicit DeviceContext(int index);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  Device device() const { return {DeviceKind::cuda, index_}; }
  cudaStream_t stream() const { return stream_.get(); }
  int num_multiprocessors() const { return multiprocessors_; }
  /// Returns how much memory the threads of a block can share.
  std::size_t most_shared_bytes() const { return static_cast<std::size_t>(most_shared_); }
  /// Keeps other threads from enqueueing while the lock lives. May be held several times.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> hold() const {
    return std::unique_lock(mutex_);
  }
  /// Makes this the GPU that calls of this thread speak of.
  void use() const;
  /// Allocates; the memory may be used by what is enqueued from now on.
  static std::shared_ptr<Buffer> allocate(const std::shared_ptr<const DeviceContext>& context,
                                          std::size_t bytes);
  /// Likewise, filled with zeros: for kernels that read more than was written, and do not use it.
  static std::shared_ptr<Buffer> allocate_zeros(const std::shared_ptr<const DeviceContext>& context,
                                                std::size_t bytes);
  /// Copies bytes between any two memories of the host and this GPU. Waits where they go to the
  /// host; what comes from there may be changed at once.
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const;
  /// Enqueues that all bytes are set to this one.
  void fill(void* data, unsigned char byte, std::size_t bytes) const;
  /// Orders what is enqueued on one stream from now on after what was enqueued on another so far.
  /// Not while work is recorded: the other stream would be recorded, too.
  cudaError_t order(cudaStream_t later, cudaStream_t earlier) const noexcept;
  /// Waits for all that was enqueued. Throws DataError when a kernel has met a wrong index.
  void finish() const;
  /// Says that what is enqueued from now on belongs to another run: see index_report.h.
  void end_run() const;
  /// Records what is enqueued from now on instead of running it. Memory is allocated beside the
  /// stream meanwhile, so that a replay does not do so again. The GPU must be held.
  void start_recording() const;
  struct Recorded {
    cudaError_t status;
    cudaGraph_t graph;
    std::vector<void*> memory;  // given back meanwhile, to be freed when nobody replays any more
  };
  /// Ends the recording, also one that has failed.
  Recorded stop_recording() const;
  /// Frees memory once all that was enqueued so far is done.
  void free(void* data) const noexcept;
  /// Returns who is told of indices that name no element.
  IndexReport& report() const { return *report_; }
  /// Returns the memory of the host that copies go through.
  PinnedPool& pinned() const { return *pinned_; }
  /// Returns where it is noted what making kernels ready takes.
  Preparation& preparation() const { return *preparation_; }
  /// Returns the compiler of kernels for this GPU.
  CodeLoader& code() const { return *code_; }

 private:
  struct DestroyStream {
    void operator()(CUstream_st* stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  using Stream = std::unique_ptr<CUstream_st, DestroyStream>;
  static Stream make_stream();

  void copy_from_host(std::byte* to, const std::byte* from, std::size_t bytes) const;

  int index_;
  int multiprocessors_ = 0, most_shared_ = 0;
  Stream stream_;
  Stream aside_;  // for allocations while the other is recorded
  mutable std::recursive_mutex mutex_;
  mutable bool recording_ = false;
  mutable std::vector<void*> to_free_;  // given back while recording
  std::unique_ptr<IndexReport> report_;
  std::unique_ptr<PinnedPool> pinned_;
  std::unique_ptr<Preparation> preparation_;
  std::unique_ptr<CodeLoader> code_;
};

using Context = std::shared_ptr<const DeviceContext>;

/// Returns the context that all backends of a GPU share, while there is one.
Context shared_context(int index);

}  // namespace antichain::cuda
