// A server for one test: answers every request with whatever bytes it is told to.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace antichain::data {

struct Request {
  std::string path;
  std::optional<std::size_t> first;  // of a Range that asks for the rest from there
};

class HttpServer {
 public:
  /// Returns the whole answer, header and all; the connection is closed after it.
  using Answer = std::function<std::string(const Request&)>;

  explicit HttpServer(Answer answer);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Returns "http://127.0.0.1:port".
  std::string url() const;
  std::vector<Request> requests() const;

 private:
  void serve();

  Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopped_ = false;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;  // last: it uses all of the above
};

/// Returns an answer of that status with a body; `length` is what its header claims.
std::string http_answer(const std::string& status, const std::string& body,
                        std::optional<std::size_t> length = std::nullopt);

}  // namespace antichain::data
