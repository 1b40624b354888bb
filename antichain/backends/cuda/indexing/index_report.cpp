#include "antichain/backends/cuda/indexing/index_report.h"

#include <fmt/args.h>

#include <cstddef>
#include <utility>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/base/error.h"

namespace antichain::cuda {

IndexReport::IndexReport() {
  void* memory = nullptr;
  cuda::check(cudaHostAlloc(&memory, sizeof(Notes), cudaHostAllocMapped), "allocating host memory");
  notes_.reset(static_cast<Notes*>(memory));
  *notes_ = {};
  cuda::check(cudaHostGetDevicePointer(&device_, memory, 0), "allocating host memory");
}

std::int64_t IndexReport::source_of(const std::string& where, const std::string& words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] =
      numbers_.try_emplace(where + "\n" + words, static_cast<std::int64_t>(sources_.size()));
  if (is_new) {
    sources_.push_back({where, words});
  }
  return entry->second;
}

bool IndexReport::is_noted(int run) const {
  const volatile Note& note = notes_->runs[run];  // another processor writes it
  return note.taken != 0;
}

void IndexReport::throw_if_noted(int run) const {
  if (!is_noted(run)) {
    return;
  }
  const volatile Note& note = notes_->runs[run];
  const Source& source = sources_.at(static_cast<std::size_t>(note.source));
  fmt::dynamic_format_arg_store<fmt::format_context> numbers;
  for (int i = 0; i < kNumbers; ++i) {
    const long long number = note.numbers[i];
    numbers.push_back(number);
  }
  fail<DataError>("{}: {}", source.where, fmt::vformat(source.words, numbers));
}

void IndexReport::check() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> unclaimed = std::exchange(left_, {});
  if (slots_[static_cast<std::size_t>(run_)].claims == 0) {
    unclaimed.push_back(run_);
  }
  int noted = kNoRun;
  for (const int run : unclaimed) {
    slots_[static_cast<std::size_t>(run)].is_left = false;
    noted = is_noted(run) ? run : noted;
  }
  if (noted == kNoRun) {
    return;
  }
  const auto forget = [&] {
    for (const int run : unclaimed) {
      notes_->runs[run] = {};
    }
  };
  try {
    throw_if_noted(noted);
  } catch (...) {
    forget();
    throw;
  }
}

int IndexReport::claim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sources_.empty()) {
    return kNoRun;
  }
  RunSlot& slot = slots_[static_cast<std::size_t>(run_)];
  ++slot.claims;
  slot.is_left = true;
  slot.number = number_;
  return run_;
}

void IndexReport::release(int run) {
  if (run == kNoRun) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  RunSlot& slot = slots_[static_cast<std::size_t>(run)];
  if (--slot.claims > 0) {
    return;
  }
  if (slot.is_left) {
    left_.push_back(run);
  } else {
    notes_->runs[run] = {};
  }
}

void IndexReport::check_run(int run) {
  if (run == kNoRun) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  RunSlot& slot = slots_[static_cast<std::size_t>(run)];
  slot.is_left = false;
  // Runs before this one are over, too: nothing will be noted down any more.
  std::erase_if(left_, [&](int other) {
    RunSlot& left = slots_[static_cast<std::size_t>(other)];
    left.is_left = left.number > slot.number || is_noted(other);
    return !left.is_left;
  });
  throw_if_noted(run);
}

void IndexReport::end_run(cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_free = [this](int run) {
    const RunSlot& slot = slots_[static_cast<std::size_t>(run)];
    return slot.claims == 0 && !slot.is_left;
  };
  if (is_free(run_)) {
    return;
  }
  for (int step = 1; step < kRuns; ++step) {
    const int next = (run_ + step) % kRuns;
    if (is_free(next)) {
      cuda::check(
          cudaMemsetAsync(static_cast<std::byte*>(device_) + offsetof(Notes, run), next, 1, stream),
          "ending a run");
      run_ = next;
      ++number_;
      return;
    }
  }  // with so many runs on their way, two share a slot
}

}  // namespace antichain::cuda
