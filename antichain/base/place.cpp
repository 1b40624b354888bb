#include "antichain/base/place.h"

#include <mutex>
#include <set>
#include <string>

namespace antichain {

Place Place::of(std::string_view file, std::uint32_t line) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> files;
  const std::lock_guard lock(mutex);
  const auto known = files.find(file);
  Place place;
  place.file_ = (known != files.end() ? known : files.emplace(file).first)->c_str();
  place.line_ = line;
  return place;
}

}  // namespace antichain
