// Indices that name no element, found by kernels while nobody waits for them.
//
// A kernel that meets one takes another element in its place and notes down the launch and the
// index in memory that the host sees, too. The next time that the host waits for the GPU, it throws
// DataError with the words of the reference.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace antichain::cuda {

class IndexReport {
 public:
  IndexReport();
  ~IndexReport();
  IndexReport(const IndexReport&) = delete;
  IndexReport& operator=(const IndexReport&) = delete;

  /// Returns the number that a kernel of this op notes down; `where` describes the op.
  std::int64_t source_of(const std::string& where);
  /// Returns where kernels note down: see device/index.cuh.
  const void* device_address() const { return device_; }
  /// Returns whether one was noted down, of which not everything may be known yet.
  bool has_note() const;
  /// Throws DataError when one was noted down since the last call. The GPU must be idle.
  void check();

 private:
  struct Note {
    unsigned long long taken;  // by the first one
    long long source, index, size;
  };
  Note* note_ = nullptr;
  void* device_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<std::string> sources_;  // by number
};

}  // namespace antichain::cuda
