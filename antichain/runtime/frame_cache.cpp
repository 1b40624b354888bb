#include "antichain/runtime/frame_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace antichain {

namespace {

bool fits(const std::vector<Shape>& shapes, std::span<const Tensor* const> arguments) {
  return std::equal(
      shapes.begin(), shapes.end(), arguments.begin(), arguments.end(),
      [](const Shape& shape, const Tensor* argument) { return shape == argument->shape(); });
}

}  // namespace

std::shared_ptr<Buffer> FrameCache::allocate_for(const Entry& entry) {
  const auto bytes = static_cast<std::int64_t>(entry.frame->memory_bytes());
  try {
    return entry.shared->backend->allocate(DType::u8, {bytes}).buffer();
  } catch (const OutOfMemory& error) {
    throw explained(error, entry.frame->memory_report());
  }
}

std::size_t FrameCache::memory_bytes() const {
  std::size_t bytes = memory_ ? memory_->bytes() : 0;
  for (const Entry& entry : entries_) {
    bytes += entry.frame->argument_bytes();
  }
  return bytes;
}

// There is no plan to tell of yet: what does not fit is what kernels keep for themselves.
std::unique_ptr<Frame> FrameCache::make_frame(RunContext& shared) const {
  try {
    return std::make_unique<Frame>(program_, shared);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(
        fmt::format("{}; that was memory for a kernel to work in, and a smaller batch "
                    "may need less",
                    error.what()),
        error.where());
  } catch (const std::bad_alloc&) {  // of a library
    fail<DeviceError>("out of memory on {} while kernels were made ready",
                      to_string(shared.backend->device()));
  }
}

FrameCache::Entry FrameCache::make(std::span<const Tensor* const> given,
                                   FunctionRef<void(RunContext&)> prepare) {
  const auto start = std::chrono::steady_clock::now();
  Entry entry{.shared = std::make_unique<RunContext>()};
  prepare(*entry.shared);
  for (const Tensor* argument : given) {
    entry.shapes.push_back(argument->shape());
  }
  for (Program::Slot slot : program_.results()) {
    const Dims& shape = program_.value(slot).shape();
    entry.result_shapes.push_back(is_bound(shape, entry.shared->env)
                                      ? std::optional(evaluate(shape, entry.shared->env))
                                      : std::nullopt);
  }
  entry.frame = make_frame(*entry.shared);
  ++made_;
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return entry;
}

const FrameCache::Entry& FrameCache::find(std::span<const Tensor* const> given,
                                          FunctionRef<void(RunContext&)> prepare) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return fits(entry.shapes, given); });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front(make(given, prepare));
    if (entries_.size() > kMaxFrames) {
      on_memory_ = on_memory_ == &entries_.back() ? nullptr : on_memory_;
      entries_.pop_back();
    }
  }
  Entry& entry = entries_.front();
  if (memory_ == nullptr || memory_->bytes() < entry.frame->memory_bytes()) {
    on_memory_ = nullptr;
    for (Entry& other : entries_) {  // nobody may keep the old memory alive
      other.frame->set_memory(unbacked_buffer(entry.shared->backend->device()), 0);
    }
    memory_.reset();
    memory_ = allocate_for(entry);
  }
  if (on_memory_ != &entry) {
    entry.frame->set_memory(memory_, 0);
    on_memory_ = &entry;
  }
  return entry;
}

FramePool::Lease::~Lease() {
  const std::lock_guard<std::mutex> lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(cache_));
}

FramePool::Lease FramePool::borrow() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) {
    return {*this, std::make_unique<FrameCache>(program_)};
  }
  std::unique_ptr<FrameCache> cache = std::move(idle_.back());
  idle_.pop_back();
  return {*this, std::move(cache)};
}

std::size_t FramePool::memory_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& cache : idle_) {
    bytes += cache->memory_bytes();
  }
  return bytes;
}

RunStatistics FramePool::statistics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  RunStatistics all;
  for (const auto& cache : idle_) {
    const RunStatistics one = cache->statistics();
    all.frames_made += one.frames_made;
    all.frames_kept += one.frames_kept;
    all.frame_seconds += one.frame_seconds;
  }
  return all;
}

}  // namespace antichain
