#include "antichain/base/file_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace antichain {

bool is_machines_fault(int reason) {
  constexpr std::array kMachines = {ENOSPC, EDQUOT, EFBIG,  EIO,   EMFILE,
                                    ENFILE, ENOMEM, ENOLCK, ESTALE};
  return std::ranges::find(kMachines, reason) != kMachines.end();
}

void fail_on_file(std::string_view what, const std::filesystem::path& path, int reason,
                  std::source_location where) {
  const std::string sentence =
      fmt::format("cannot {} '{}': {}", what, path.string(),
                  std::error_code(reason, std::generic_category()).message());
  if (is_machines_fault(reason)) {
    throw MachineError(sentence, where);
  }
  throw DataError(sentence, where);
}

void fail_on_file(std::string_view what, const std::filesystem::filesystem_error& error,
                  std::source_location where) {
  fail_on_file(what, error.path1(), error.code().value(), where);
}

}  // namespace antichain
