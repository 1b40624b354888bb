#include "antichain/base/code_cache.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "antichain/base/private_folder.h"
#include "antichain/base/sha256.h"

namespace antichain {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kDigestLength = 64;
constexpr std::string_view kEnding = ".o", kLeftEnding = ".tmp";

// Looking at all files takes milliseconds where they are thousands, so only every so manieth store
// does it, whichever process it is of, and those of files that are large against all there may be.
constexpr std::uintmax_t kStoresPerLook = 64;

bool looks_for_room(const std::string& key, std::uintmax_t bytes, std::uintmax_t max_bytes) {
  return std::hash<std::string>()(key) % kStoresPerLook == 0 || bytes * kStoresPerLook > max_bytes;
}

// Of the key too: a file under another name is another code.
std::string digest_of(const std::string& key, const std::string& bytes) {
  Sha256 digest;
  for (const std::string& part : {key, std::string(1, '\0'), bytes}) {
    digest.add(std::as_bytes(std::span(part)));
  }
  return digest.finish();
}

std::string name_of(const std::string& key) { return key + std::string(kEnding); }

// Files of this cache: KEY.o, and what a process that was killed has left behind, KEY.o.PID.N.tmp.
bool is_ours(std::string_view name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
  const std::string_view rest = name.substr(digits);
  return digits > 0 &&
         (rest == kEnding || (rest.starts_with(".o.") && rest.ends_with(kLeftEnding)));
}

}  // namespace

struct CodeCache::LazyFolder {
  explicit LazyFolder(fs::path where) : path(std::move(where)) {}

  const PrivateFolder& open() {
    // Not by std::call_once: a shared library that links this one would export what it makes.
    const std::lock_guard lock(mutex);
    if (!opened) {
      opened.emplace(path);
    }
    return *opened;
  }

  fs::path path;
  std::mutex mutex;
  std::optional<PrivateFolder> opened;
};

CodeCache::CodeCache(const fs::path& folder, std::uintmax_t max_bytes)
    : folder_(folder.empty() ? nullptr : std::make_shared<LazyFolder>(folder)),
      max_bytes_(max_bytes) {}

std::optional<std::string> CodeCache::load(const std::string& key) const {
  if (!folder_) {
    return std::nullopt;
  }
  const PrivateFolder& folder = folder_->open();
  const std::string name = name_of(key);
  const std::optional<std::string> bytes = folder.read(name, max_bytes_);
  if (!bytes) {
    return std::nullopt;
  }
  if (bytes->size() < kDigestLength ||
      bytes->compare(0, kDigestLength, digest_of(key, bytes->substr(kDigestLength))) != 0) {
    folder.remove(name);
    return std::nullopt;
  }
  folder.touch(name);
  return bytes->substr(kDigestLength);
}

void CodeCache::store(const std::string& key, const std::string& bytes) const {
  if (!folder_) {
    return;
  }
  if (looks_for_room(key, bytes.size(), max_bytes_)) {
    make_room();
  }
  folder_->open().write(name_of(key), digest_of(key, bytes) + bytes);
}

void CodeCache::remove(const std::string& key) const {
  if (folder_) {
    folder_->open().remove(name_of(key));
  }
}

void CodeCache::make_room() const {
  const PrivateFolder& folder = folder_->open();
  std::vector<PrivateFolder::File> files = folder.files();
  std::erase_if(files, [](const PrivateFolder::File& file) { return !is_ours(file.name); });
  std::uintmax_t total = 0;
  for (const PrivateFolder::File& file : files) {
    total += file.bytes;
  }
  std::ranges::sort(files, {}, &PrivateFolder::File::used);
  for (const PrivateFolder::File& file : files) {
    if (total <= max_bytes_) {
      return;
    }
    folder.remove(file.name);
    total -= file.bytes;
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

fs::path default_code_folder() {
  const fs::path folder = default_cache_folder();
  return folder.empty() ? folder : folder / "code";
}

std::string code_cache_refusal() {
  const fs::path folder = default_code_folder();
  std::error_code ignored;
  return fs::exists(fs::symlink_status(folder, ignored)) ? PrivateFolder(folder).refusal() : "";
}

}  // namespace antichain
