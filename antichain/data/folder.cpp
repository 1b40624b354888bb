#include "antichain/data/folder.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/data/fetch.h"

namespace antichain::data {

namespace {

std::filesystem::path from_environment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace

std::filesystem::path data_folder(const std::filesystem::path& given) {
  if (!given.empty()) {
    return given;
  }
  if (auto chosen = from_environment("ANTICHAIN_DATA"); !chosen.empty()) {
    return chosen;
  }
  if (auto shared = from_environment("XDG_DATA_HOME"); !shared.empty()) {
    return shared / "antichain";
  }
  const auto home = from_environment("HOME");
  require<DataError>(!home.empty(),
                     "no folder for data: neither --data, ANTICHAIN_DATA, XDG_DATA_HOME nor HOME "
                     "says where it is");
  return home / ".local" / "share" / "antichain";
}

SetFolder::SetFolder(const std::filesystem::path& given, std::string set,
                     std::vector<std::filesystem::path> system)
    : set_(std::move(set)), folders_(std::move(system)) {
  folders_.insert(folders_.begin(), data_folder(given) / set_);
}

std::optional<std::filesystem::path> SetFolder::look_for(
    const std::vector<std::string>& names) const {
  for (const std::filesystem::path& folder : folders_) {
    for (const std::string& name : names) {
      for (const std::string_view ending : {"", ".gz", ".xz"}) {
        std::filesystem::path path = folder / name;
        path += ending;
        std::error_code reason;
        if (std::filesystem::exists(path, reason)) {
          return path;
        }
        if (reason) {  // a folder that may not be entered, a loop of links
          fail_on_file("read", path, reason.value());
        }
      }
    }
  }
  return std::nullopt;
}

std::filesystem::path SetFolder::find(const std::vector<std::string>& names) const {
  if (auto found = look_for(names)) {
    return *found;
  }
  std::string looked_for, looked_in;
  for (const std::string& name : names) {
    looked_for += (looked_for.empty() ? "" : " or ") + name;
  }
  for (const std::filesystem::path& folder : folders_) {
    looked_in += (looked_in.empty() ? "" : " or ") + folder.string();
  }
  const auto set = std::ranges::find(known_sets(), set_, &KnownSet::name);
  const std::string how = set != known_sets().end() ? how_to_get(*set) + ", or " : "";
  fail<DataError>(
      "{}: there is no {} (nor with .gz or .xz) in {}; {}say by --data or ANTICHAIN_DATA in which "
      "folder the folder {} is",
      set_, looked_for, looked_in, how, set_);
}

}  // namespace antichain::data
