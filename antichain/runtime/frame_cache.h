// Frames that were made before: one per set of sizes, the ones used last, on one piece of memory.
// Every run that happens at the same time has a cache of its own, borrowed from a pool.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "antichain/base/function_ref.h"
#include "antichain/runtime/executable.h"
#include "antichain/runtime/frame.h"

namespace antichain {

class FrameCache {
 public:
  /// A frame with what it was made for.
  struct Entry {
    std::vector<Shape> shapes;  // of the arguments; empty for those that are not fed
    std::unique_ptr<RunContext> shared;
    std::unique_ptr<Frame> frame;
    std::vector<std::optional<Shape>> result_shapes;  // unset: found out by the run
  };

  explicit FrameCache(const Program& program) : program_(program) {}

  /// Returns the frame for arguments of these shapes. Makes one if there is none, for the context
  /// that `prepare` has filled, and forgets the one that was not used for longest.
  const Entry& find(std::span<const Tensor* const> arguments,
                    FunctionRef<void(RunContext&)> prepare);
  std::size_t memory_bytes() const;
  RunStatistics statistics() const { return {made_, entries_.size(), seconds_}; }

  // Lists of the executable, kept here so that a run need not allocate them.
  std::vector<const Tensor*> arguments;
  std::vector<Tensor*> targets;

 private:
  static constexpr std::size_t kMaxFrames = 16;

  std::unique_ptr<Frame> make_frame(RunContext& shared) const;
  Entry make(std::span<const Tensor* const> arguments, FunctionRef<void(RunContext&)> prepare);
  static std::shared_ptr<Buffer> allocate_for(const Entry& entry);

  const Program& program_;
  std::list<Entry> entries_;  // the one used last comes first
  std::shared_ptr<Buffer> memory_;
  const Entry* on_memory_ = nullptr;  // the frame that was told last where the memory is
  std::size_t made_ = 0;
  double seconds_ = 0;
};

class FramePool {
 public:
  explicit FramePool(const Program& program) : program_(program) {}

  /// Gives the cache back when it ends.
  class Lease {
   public:
    Lease(FramePool& pool, std::unique_ptr<FrameCache> cache)
        : pool_(pool), cache_(std::move(cache)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    FrameCache* operator->() const { return cache_.get(); }

   private:
    FramePool& pool_;
    std::unique_ptr<FrameCache> cache_;
  };

  /// Lends a cache that no other run uses.
  Lease borrow();
  /// Returns the bytes of the caches that are not lent.
  std::size_t memory_bytes() const;
  /// Adds up what these caches have done.
  RunStatistics statistics() const;

 private:
  const Program& program_;
  mutable std::mutex mutex_;  // taken twice a run, never by an op
  std::vector<std::unique_ptr<FrameCache>> idle_;
};

}  // namespace antichain
