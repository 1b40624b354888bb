#include "antichain/base/code_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "antichain/base/atomic_file.h"
#include "antichain/base/error.h"
#include "antichain/base/sha256.h"

namespace antichain {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDigestLength = 64;

// Looking at all files takes milliseconds where they are thousands, so only every so manieth store
// does it, whichever process it is of, and those of files that are large against all there may be.
constexpr std::uintmax_t kStoresPerLook = 64;

bool looks_for_room(const std::string& key, std::uintmax_t bytes, std::uintmax_t max_bytes) {
  return std::hash<std::string>()(key) % kStoresPerLook == 0 || bytes * kStoresPerLook > max_bytes;
}

std::string digest_of(const std::string& bytes) {
  Sha256 digest;
  digest.add(std::as_bytes(std::span(bytes)));
  return digest.finish();
}

}  // namespace

std::optional<std::string> CodeCache::load(const std::string& key) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  std::ifstream file(path_of(key), std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::error_code ignored;  // a file that another process has removed meanwhile
  if (bytes.size() < kDigestLength ||
      bytes.substr(0, kDigestLength) != digest_of(bytes.substr(kDigestLength))) {
    fs::remove(path_of(key), ignored);
    return std::nullopt;
  }
  fs::last_write_time(path_of(key), fs::file_time_type::clock::now(), ignored);
  return bytes.substr(kDigestLength);
}

void CodeCache::store(const std::string& key, const std::string& bytes) const {
  if (folder_.empty()) {
    return;
  }
  static std::atomic<int> counter = 0;
  const fs::path aside = folder_ / fmt::format("{}.{}.{}", key, getpid(), counter++);
  try {
    fs::create_directories(folder_);
    if (looks_for_room(key, bytes.size(), max_bytes_)) {
      make_room();
    }
    AtomicFile file(aside);
    file.write(digest_of(bytes));
    file.write(bytes);
    file.commit();
    fs::rename(aside, path_of(key));
  } catch (const std::exception&) {  // a full disk, a folder that cannot be written
    std::error_code ignored;
    fs::remove(aside, ignored);
  }
}

void CodeCache::make_room() const {
  struct Entry {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code error;  // files come and go
  for (const fs::directory_entry& found : fs::directory_iterator(folder_)) {
    const std::uintmax_t bytes = found.file_size(error);
    if (!error) {
      entries.push_back({found.last_write_time(error), bytes, found.path()});
      total += bytes;
    }
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) {
      return;
    }
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

fs::path default_cache_folder() {
  if (const char* const chosen = std::getenv("ANTICHAIN_CACHE")) {
    return chosen;
  }
  if (const char* const caches = std::getenv("XDG_CACHE_HOME"); caches && *caches != '\0') {
    return fs::path(caches) / "antichain";
  }
  const char* const home = std::getenv("HOME");
  return home && *home != '\0' ? fs::path(home) / ".cache" / "antichain" : fs::path();
}

}  // namespace antichain
