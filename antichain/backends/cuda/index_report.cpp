#include "antichain/backends/cuda/index_report.h"

#include <cuda_runtime_api.h>
#include <fmt/args.h>

#include "antichain/backends/cuda/cuda_error.h"
#include "antichain/base/error.h"

namespace antichain::cuda {

IndexReport::IndexReport() {
  void* memory = nullptr;
  cuda::check(cudaHostAlloc(&memory, sizeof(Note), cudaHostAllocMapped), "allocating host memory");
  note_ = static_cast<Note*>(memory);
  *note_ = {};
  cuda::check(cudaHostGetDevicePointer(&device_, memory, 0), "allocating host memory");
}

IndexReport::~IndexReport() { static_cast<void>(cudaFreeHost(note_)); }

std::int64_t IndexReport::source_of(const std::string& where, const std::string& words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [entry, is_new] =
      numbers_.try_emplace(where + "\n" + words, static_cast<std::int64_t>(sources_.size()));
  if (is_new) {
    sources_.push_back({where, words});
  }
  return entry->second;
}

bool IndexReport::has_note() const {
  const volatile Note& note = *note_;  // another processor writes it
  return note.taken != 0;
}

void IndexReport::check() {
  if (!has_note()) {
    return;
  }
  const volatile Note& note = *note_;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Source source = sources_[static_cast<std::size_t>(note.source)];
  fmt::dynamic_format_arg_store<fmt::format_context> numbers;
  for (int i = 0; i < kNumbers; ++i) {
    const long long number = note.numbers[i];
    numbers.push_back(number);
  }
  *note_ = {};
  fail<DataError>("{}: {}", source.where, fmt::vformat(source.words, numbers));
}

}  // namespace antichain::cuda
