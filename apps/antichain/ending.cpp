#include "apps/antichain/ending.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::app {

namespace {

constexpr int kOurFault = 1, kUsersFault = 2, kSignalBase = 128;
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> received_signal = 0;
std::array<struct sigaction, kSignals.size()> before = {};

void on_signal(int signal) {
  received_signal = signal;
  for (const int each : kSignals) {  // a second one, whichever it is, ends at once
    if (struct sigaction now = {};
        ::sigaction(each, nullptr, &now) == 0 && now.sa_handler == on_signal) {
      std::signal(each, SIG_DFL);
    }
  }
}

}  // namespace

Ending ending_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const EndedBySignal& end) {
    return {kSignalBase + end.signal};
  } catch (const InternalError& ours) {
    return {kOurFault, fmt::format("internal error, please report it: {} ({}:{})", ours.what(),
                                   ours.where().file_name(), ours.where().line())};
  } catch (const MachineError& machine) {
    return {kOurFault, machine.what()};
  } catch (const OutOfMemory& machine) {
    return {kOurFault, machine.what()};
  } catch (const CommError& machine) {
    return {kOurFault, machine.what()};
  } catch (const Error& users) {
    return {kUsersFault, users.what()};
  } catch (const std::filesystem::filesystem_error& file) {
    try {
      fail_on_file("use", file);
    } catch (...) {
      return ending_of(std::current_exception());
    }
  } catch (const std::bad_alloc&) {
    return {kOurFault, "out of memory"};
  } catch (const std::system_error& machine) {
    return {kOurFault, fmt::format("the system refuses: {}", machine.what())};
  } catch (const std::exception& unexpected) {
    return {kOurFault, fmt::format("unexpected error, please report it: {}", unexpected.what())};
  }
}

StopSignals::StopSignals() {
  received_signal = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction ours = {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) {
      ::sigaction(kSignals[i], &ours, nullptr);
    }
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before[i], nullptr);
  }
}

int StopSignals::received() const { return received_signal; }

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is then an error of its write
  // The wrong way round, so that using them fails as it does with closed ones.
  constexpr std::array kModes = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int stream = 0; stream < static_cast<int>(kModes.size()); ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) {
      ::open("/dev/null",
             kModes[static_cast<std::size_t>(stream)]);  // takes the lowest that is free
    }
  }
}

}  // namespace antichain::app
