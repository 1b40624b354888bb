// Event files as TensorBoard reads them: records with checksums, each holding a protocol buffer.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "antichain/train/history.h"

namespace antichain {

/// Writes scalars for TensorBoard, each flushed as it comes. Event files that an earlier run left
/// in the folder are replaced: TensorBoard would show both runs as one.
class EventFile {
 public:
  /// Makes the folder where needed and writes what is known already.
  EventFile(const std::filesystem::path& folder, const History& history);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void add(std::string_view curve, const CurvePoint& point);

 private:
  void write_record(const std::string& event);

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace antichain
