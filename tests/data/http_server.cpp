#include "tests/data/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "antichain/base/error.h"

namespace antichain::data {

HttpServer::HttpServer(Answer answer) : answer_(std::move(answer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ensure(::bind(listener_, any, size) == 0 && ::listen(listener_, 8) == 0 &&
             ::getsockname(listener_, any, &size) == 0,
         "no socket for the test");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stopped_ = true;
  ::shutdown(listener_, SHUT_RDWR);  // wakes accept()
  thread_.join();
  ::close(listener_);
}

std::string HttpServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<Request> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  while (!stopped_) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) {
      continue;
    }
    std::string text;
    std::array<char, 4096> buffer{};
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (count <= 0) {
        break;
      }
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    Request request;
    request.path = text.substr(4, text.find(' ', 4) - 4);  // after "GET "
    const std::string range = "Range: bytes=";
    if (const std::size_t at = text.find(range); at != std::string::npos) {
      request.first = std::stoul(text.substr(at + range.size()));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    std::string answer = answer_(request);
    for (std::size_t sent = 0; sent < answer.size();) {
      const ssize_t count =
          ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) {
        break;
      }
      sent += static_cast<std::size_t>(count);
    }
    ::shutdown(connection, SHUT_WR);
    while (::recv(connection, buffer.data(), buffer.size(), 0) > 0) {
    }
    ::close(connection);
  }
}

std::string http_answer(const std::string& status, const std::string& body,
                        std::optional<std::size_t> length) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                     length.value_or(body.size()), body);
}

}  // namespace antichain::data
