#include "antichain/backends/cuda/core/pinned_pool.h"

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda {

PinnedPiece::PinnedPiece() {
  check(cudaHostAlloc(&memory_, kBytes, cudaHostAllocDefault), "allocating host memory");
  const cudaError_t status = cudaEventCreateWithFlags(&used_, cudaEventDisableTiming);
  if (status != cudaSuccess) {
    static_cast<void>(cudaFreeHost(memory_));
  }
  check(status, "making an event");
}

// Waits by itself for copies that use the memory. The GPU may be lost by now.
PinnedPiece::~PinnedPiece() {
  static_cast<void>(cudaFreeHost(memory_));
  static_cast<void>(cudaEventDestroy(used_));
}

void PinnedPiece::use_until_now(cudaStream_t stream) {
  check(cudaEventRecord(used_, stream), "copying memory");
}

bool PinnedPiece::in_use() const {
  const cudaError_t status = cudaEventQuery(used_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // or the next call would report it as an error
    return true;
  }
  check(status, "running kernels");
  return false;
}

void PinnedPiece::wait() const { check(cudaEventSynchronize(used_), "running kernels"); }

void GiveBack::operator()(PinnedPiece* piece) const {
  pool->give_back(std::unique_ptr<PinnedPiece>(piece));
}

PinnedLease PinnedPool::borrow() {
  PinnedLease piece(nullptr, {this});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty() || (made_ < kMany && idle_.front()->in_use())) {
      piece.reset(std::make_unique<PinnedPiece>().release());
      ++made_;
      return piece;
    }
    piece.reset(idle_.front().release());
    idle_.pop_front();
  }
  piece->wait();
  return piece;
}

void PinnedPool::give_back(std::unique_ptr<PinnedPiece> piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (made_ > kMany) {  // more than usual were lent at once
    --made_;
    return;
  }
  idle_.push_back(std::move(piece));
}

}  // namespace antichain::cuda
