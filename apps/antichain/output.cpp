#include "apps/antichain/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>

#include "antichain/base/file_error.h"
#include "antichain/base/output_file.h"
#include "antichain/base/printable.h"
#include "apps/antichain/ending.h"

namespace antichain::app {

std::string to_line(const Json& json) {
  constexpr int kOneLine = -1;
  return json.dump(kOneLine, ' ', false, Json::error_handler_t::replace);
}

namespace {

void write_all(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  const int reason = errno;
  if (reason == EPIPE) {
    throw EndedBySignal(SIGPIPE);
  }
  fail_on_file("write", "standard output", reason);
}

}  // namespace

void Output::finish(std::string_view text, const Json& json) const {
  write_all(json_ ? to_line(json) + "\n" : printable(text));
}

void Output::tell(std::string_view text) const {
  std::fputs(printable(text).c_str(), progress());
  std::fflush(progress());
}

void Output::write_to(const std::string& path, std::string_view text) const {
  if (path == "-") {
    write_all(text);
  } else {
    write_file(path, text, Pipes::waited_for);
  }
}

void Output::fail(std::string_view sentence) const {
  // Not by fmt::print(), which throws when it cannot write.
  std::fputs(fmt::format("antichain: {}\n", printable(sentence, Lines::one)).c_str(), stderr);
  if (json_) {
    std::puts(to_line({{"error", std::string(sentence)}}).c_str());
  }
}

}  // namespace antichain::app
