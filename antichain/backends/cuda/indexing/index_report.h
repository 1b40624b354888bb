// What kernels find wrong while nobody waits for them: indices that name no element, and their
// like.
//
// A kernel that meets one takes another element in its place and notes down who it is and some
// numbers in memory that the host sees, too. Runs that somebody will wait for have a slot each, so
// that DataError is thrown, with the words of the reference, to whoever looks at their results.
// What belongs to no such run is thrown the next time that the host waits for the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
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
  IndexReport(const IndexReport&) = delete;
  IndexReport& operator=(const IndexReport&) = delete;

  /// Returns the number by which a kernel of an op says this; `where` describes the op, and `words`
  /// have {} for the numbers that are noted down.
  std::int64_t source_of(const std::string& where,
                         const std::string& words = "index {} is outside an axis of size {}");
  /// Returns where kernels note down: see device/index.cuh.
  const void* device_address() const { return device_; }
  /// Throws DataError when something was noted down that belongs to nobody, and forgets it. The GPU
  /// must be idle.
  void check();

  /// What was noted down in the run that is being enqueued, for whoever waits for that run.
  class Claim {
   public:
    explicit Claim(IndexReport& report) : report_(report), run_(report.claim()) {}
    ~Claim() { report_.release(run_); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    /// Throws DataError, every time, when something was noted down. The run must have ended.
    void check() const { report_.check_run(run_); }

   private:
    IndexReport& report_;
    int run_;
  };
  /// Gives what is enqueued from now on another slot than the run before, if that is claimed.
  void end_run(cudaStream_t stream);

 private:
  static constexpr int kRuns = 256;  // what a byte counts
  static constexpr int kNoRun = -1;  // nothing that was loaded so far can note down anything

  struct Note {
    unsigned long long taken;  // by the first one
    long long source, numbers[kNumbers];
  };
  struct Notes {
    alignas(8) unsigned char run;  // which the GPU is at
    Note runs[kRuns];
  };
  struct RunSlot {
    int claims = 0;
    bool is_left = false;     // nobody has looked whether something was noted down
    std::int64_t number = 0;  // of the run, in the order in which the GPU runs them
  };
  struct Source {
    std::string where, words;
  };
  struct FreeHost {
    void operator()(Notes* notes) const { static_cast<void>(cudaFreeHost(notes)); }
  };

  int claim();
  void release(int run);
  void check_run(int run);
  void throw_if_noted(int run) const;
  bool is_noted(int run) const;

  std::unique_ptr<Notes, FreeHost> notes_;
  void* device_ = nullptr;
  std::mutex mutex_;
  int run_ = 0;  // the slot of what is enqueued
  std::int64_t number_ = 0;
  std::array<RunSlot, kRuns> slots_ = {};
  std::vector<int> left_;  // slots that were given up unseen
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<Source> sources_;  // by number
};

}  // namespace antichain::cuda
