#include "antichain/data/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/sha256.h"

#ifdef ANTICHAIN_HAS_CURL
#include <curl/curl.h>
#endif

namespace antichain::data {

std::string sha256_of(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    fail_on_file("read", path, errno);
  }
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  Sha256 digest;
  ssize_t count = 1;
  int reason = 0;
  while (count != 0 && reason == 0) {
    count = ::read(file, buffer.data(), buffer.size());
    if (count > 0) {
      digest.add(std::span(buffer).first(static_cast<std::size_t>(count)));
    } else if (count < 0 && errno != EINTR) {
      reason = errno;
    }
  }
  ::close(file);
  if (reason != 0) {
    fail_on_file("read", path, reason);
  }
  return digest.finish();
}

std::string shown_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", host), url.size());
  std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.rfind(':', end);
  if (at == std::string::npos && colon != std::string::npos && colon > host && colon < end &&
      url.find_first_not_of("0123456789", colon + 1) < end) {
    at = url.rfind('@');  // no port: a password with a slash in it, which makes no good address
  }
  return at == std::string::npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

#ifdef ANTICHAIN_HAS_CURL

namespace {

// The file that a download goes to until it is complete. No other process writes it meanwhile.
class PartFile {
 public:
  explicit PartFile(std::filesystem::path path) : path_(std::move(path)) {
    open();
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      ::close(file_);
      fail<DataError>("{} is being downloaded by another process", path_.string());
    }
    size_ = ::lseek(file_, 0, SEEK_END);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() { ::close(file_); }

  std::int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  void clear() {
    check(::ftruncate(file_, 0) == 0 && ::lseek(file_, 0, SEEK_SET) == 0);
    size_ = 0;
  }
  void append(std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) {
        continue;
      }
      check(count >= 0);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      size_ += count;
    }
  }
  void remove() const { ::unlink(path_.c_str()); }
  /// Makes it the target, in a way that survives a loss of power.
  void rename_to(const std::filesystem::path& target) const {
    check(::fsync(file_) == 0);
    check(::rename(path_.c_str(), target.c_str()) == 0);
    const int folder = ::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      ::fsync(folder);  // where the folder cannot be synchronised, the file is good all the same
      ::close(folder);
    }
  }

 private:
  // One that an earlier download left, or a new one: never a link, a device or somebody else's.
  void open() {
    constexpr int kMode = 0644, kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    file_ = ::open(path_.c_str(), kFlags);
    if (file_ < 0 && errno == ENOENT) {
      file_ = ::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, kMode);
    }
    if (file_ < 0 && errno == EEXIST) {  // another process was quicker
      file_ = ::open(path_.c_str(), kFlags);
    }
    if (file_ < 0) {
      fail_on_file("write", path_, errno);
    }
    struct stat found = {};
    if (::fstat(file_, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != ::geteuid()) {
      ::close(file_);
      fail<DataError>("cannot write '{}': it is there already, and not left by a download of yours",
                      path_.string());
    }
  }
  void check(bool success) const {
    if (!success) {
      fail_on_file("write", path_, errno);
    }
  }

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

struct CloseCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CloseCurl>;

Curl make_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  Curl curl(curl_easy_init());
  ensure(curl != nullptr, "libcurl does not start");
  return curl;
}

long response_code(CURL* curl) {
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

// What libcurl calls back, for one request.
struct Transfer {
  const Download& wanted;
  PartFile& part;
  CURL* curl;
  bool resumes;  // asks for the rest only
  bool too_long = false;
  std::exception_ptr error = nullptr;

  void receive(std::span<const char> bytes) {
    constexpr long kPartialContent = 206;
    if (resumes && response_code(curl) != kPartialContent) {
      part.clear();  // the server sends all of it
    }
    resumes = false;
    too_long = part.size() + static_cast<std::int64_t>(bytes.size()) > wanted.bytes;
    if (!too_long) {
      part.append(bytes);
      wanted.progress(part.size());
    }
  }
};

// Exceptions must not pass through libcurl.
std::size_t on_bytes(const char* data, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  try {
    transfer.receive({data, count});
  } catch (...) {
    transfer.error = std::current_exception();
  }
  return transfer.error || transfer.too_long ? 0 : count;
}

[[noreturn]] void refuse(const PartFile& part, const Download& wanted, const std::string& why) {
  part.remove();
  fail<DataError>("{}: what came is not the published file, {}; it was removed",
                  shown_url(wanted.url), why);
}

// Receives until the part is complete, or throws.
void receive(const Download& wanted, PartFile& part) {
  constexpr long kConnectSeconds = 30, kRedirects = 10;
  const Curl curl = make_curl();
  Transfer transfer{.wanted = wanted, .part = part, .curl = curl.get(), .resumes = part.size() > 0};
  std::array<char, CURL_ERROR_SIZE> reason{};
  const std::string range = std::to_string(part.size()) + "-";
  curl_easy_setopt(curl.get(), CURLOPT_URL, wanted.url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, kRedirects);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  if (wanted.lowest_speed > 0) {
    curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(wanted.lowest_speed));
    curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, static_cast<long>(wanted.speed_seconds));
  }
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "antichain");
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, reason.data());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  if (transfer.resumes) {
    curl_easy_setopt(curl.get(), CURLOPT_RANGE, range.c_str());
  }
  const CURLcode result = curl_easy_perform(curl.get());
  if (transfer.error) {
    std::rethrow_exception(transfer.error);
  }
  if (transfer.too_long) {
    refuse(part, wanted, fmt::format("it has more than {} bytes", wanted.bytes));
  }
  constexpr long kRangeNotSatisfiable = 416;
  if (response_code(curl.get()) == kRangeNotSatisfiable) {
    refuse(part, wanted, fmt::format("it ends before byte {}", part.size()));
  }
  if (result == CURLE_HTTP_RETURNED_ERROR && part.size() == 0) {
    part.remove();
  }
  require<DataError>(result != CURLE_HTTP_RETURNED_ERROR, "{}: the server answers with status {}",
                     shown_url(wanted.url), response_code(curl.get()));
  require<DataError>(result == CURLE_OK,
                     "{}: the download broke off after {} of {} bytes ({}); run it again to go on "
                     "from there",
                     shown_url(wanted.url), part.size(), wanted.bytes,
                     reason[0] != '\0' ? reason.data() : curl_easy_strerror(result));
}

}  // namespace

void download(const Download& wanted) {
  PartFile part(wanted.target.string() + ".part");
  if (part.size() < wanted.bytes) {
    receive(wanted, part);
  }
  if (part.size() != wanted.bytes) {
    refuse(part, wanted, fmt::format("it has {} bytes instead of {}", part.size(), wanted.bytes));
  }
  if (const std::string found = sha256_of(part.path()); found != wanted.sha256) {
    refuse(part, wanted, fmt::format("its SHA-256 is {} instead of {}", found, wanted.sha256));
  }
  part.rename_to(wanted.target);
}

#else

void download(const Download& wanted) {
  fail<NotSupported>(
      "{} cannot be downloaded: this build is without libcurl; get {} by other means",
      wanted.target.string(), shown_url(wanted.url));
}

#endif

}  // namespace antichain::data
