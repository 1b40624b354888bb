// PinnedPool: pieces of host memory between which and the GPU copies run while nobody waits.
//
// CUDA copies other host memory only while the caller waits. A piece is given back as soon as its
// copy is enqueued; it is lent again when the GPU is done with it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace antichain::cuda {

class PinnedPiece {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  PinnedPiece();
  ~PinnedPiece();
  PinnedPiece(const PinnedPiece&) = delete;
  PinnedPiece& operator=(const PinnedPiece&) = delete;

  void* data() const { return memory_; }
  /// Says that what was enqueued so far uses the piece.
  void use_until_now(cudaStream_t stream);
  bool in_use() const;
  /// Waits until nothing uses it any more.
  void wait() const;

 private:
  void* memory_ = nullptr;
  cudaEvent_t used_ = nullptr;
};

class PinnedPool;

struct GiveBack {
  PinnedPool* pool;
  void operator()(PinnedPiece* piece) const;
};
/// A piece that goes back to its pool, where the GPU may still use it.
using PinnedLease = std::unique_ptr<PinnedPiece, GiveBack>;

/// May be used by several threads at once.
class PinnedPool {
 public:
  /// Lends a piece that nothing uses. Waits for one only where there are many already.
  PinnedLease borrow();

 private:
  friend GiveBack;
  void give_back(std::unique_ptr<PinnedPiece> piece);

  static constexpr std::size_t kMany = 16;  // pieces that are kept: 64 MiB

  std::mutex mutex_;
  std::deque<std::unique_ptr<PinnedPiece>> idle_;  // first what was given back first
  std::size_t made_ = 0;
};

}  // namespace antichain::cuda
