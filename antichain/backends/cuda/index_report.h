// What kernels find wrong while nobody waits for them: indices that name no element, and their
// like.
//
// A kernel that meets one takes another element in its place and notes down who it is and some
// numbers in memory that the host sees, too. The next time that the host waits for the GPU, it
// throws DataError with the words of the reference.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace antichain::cuda {

class IndexReport {
 public:
  /// Numbers that a kernel may note down.
  static constexpr int kNumbers = 8;

  IndexReport();
  ~IndexReport();
  IndexReport(const IndexReport&) = delete;
  IndexReport& operator=(const IndexReport&) = delete;

  /// Returns the number by which a kernel of an op says this; `where` describes the op, and `words`
  /// have {} for the numbers that are noted down.
  std::int64_t source_of(const std::string& where,
                         const std::string& words = "index {} is outside an axis of size {}");
  /// Returns where kernels note down: see device/index.cuh.
  const void* device_address() const { return device_; }
  /// Returns whether something was noted down, of which not everything may be known yet.
  bool has_note() const;
  /// Throws DataError when something was noted down since the last call. The GPU must be idle.
  void check();

 private:
  struct Note {
    unsigned long long taken;  // by the first one
    long long source, numbers[kNumbers];
  };
  struct Source {
    std::string where, words;
  };
  Note* note_ = nullptr;
  void* device_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<Source> sources_;  // by number
};

}  // namespace antichain::cuda
