// Errors of files: whose fault they are, and the reason in the system's words.
#pragma once

#include <filesystem>
#include <string_view>

#include "antichain/base/error.h"

namespace antichain {

/// Reports that the machine could not do what it was asked to: a full disk, a disk that fails, too
/// many open files, no memory left. Whoever catches broken files catches it, too.
class MachineError : public DataError {
  using DataError::DataError;
};

/// Returns whether a reason (an errno) is the machine's fault and not that of who named the file.
bool is_machines_fault(int reason);

/// Throws MachineError or DataError: "cannot write 'report.html': No space left on device". The
/// reason is an errno, taken right behind the call that failed.
[[noreturn]] void fail_on_file(std::string_view what, const std::filesystem::path& path, int reason,
                               std::source_location where = std::source_location::current());

/// Throws the same for a failure that the standard library reports.
[[noreturn]] void fail_on_file(std::string_view what,
                               const std::filesystem::filesystem_error& error,
                               std::source_location where = std::source_location::current());

}  // namespace antichain
