#include "apps/antichain/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "antichain/base/error.h"

namespace antichain::app {

std::string to_line(const Json& json) {
  constexpr int kOneLine = -1;
  return json.dump(kOneLine, ' ', false, Json::error_handler_t::replace);
}

void Output::finish(std::string_view text, const Json& json) const {
  const std::string line = to_line(json) + "\n";
  const std::string_view chosen = json_ ? std::string_view(line) : text;
  const bool written = std::fwrite(chosen.data(), 1, chosen.size(), stdout) == chosen.size();
  require<DataError>(std::fflush(stdout) == 0 && written, "cannot write to standard output: {}",
                     std::strerror(errno));
}

void Output::fail(std::string_view sentence) const {
  // Not by fmt::print(), which throws when it cannot write.
  std::fputs(fmt::format("antichain: {}\n", sentence).c_str(), stderr);
  if (json_) {
    std::puts(to_line({{"error", std::string(sentence)}}).c_str());
  }
}

}  // namespace antichain::app
