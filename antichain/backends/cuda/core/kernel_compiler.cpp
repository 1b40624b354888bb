#include "antichain/backends/cuda/core/kernel_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "antichain/backends/cuda/core/device_sources.h"
#include "antichain/backends/cuda/core/dynamic_library.h"
#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

struct Nvrtc {
  DynamicLibrary library;
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCompileProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCreateProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcDestroyProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBIN);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBINSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetErrorString);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLog);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLogSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcVersion);

  void check(nvrtcResult status, const char* doing) const {
    ensure(status == NVRTC_SUCCESS, "NVRTC failed while {}: {}", doing,
           nvrtcGetErrorString(status));
  }
  std::pair<int, int> version() const {
    std::pair<int, int> found;
    check(nvrtcVersion(&found.first, &found.second), "telling its version");
    return found;
  }
};

class Compiler;
void close_at_exit(Compiler& compiler);

class Compiler {
 public:
  explicit Compiler(const std::string& file) : nvrtc{.library = DynamicLibrary(file)} {}

  const Nvrtc nvrtc;

  int texts() const { return texts_; }
  void take() {
    const std::lock_guard lock(mutex_);
    require<DeviceError>(!is_closed_, "a kernel cannot be compiled while the program ends");
    ++texts_;
  }
  void give_back() {
    const std::lock_guard lock(mutex_);
    --texts_;
    idle_.notify_all();
    if (!std::exchange(closes_at_exit_, true)) {
      close_at_exit(*this);
    }
  }
  /// Waits for the texts in hand and takes no others.
  void close() {
    std::unique_lock lock(mutex_);
    is_closed_ = true;
    idle_.wait(lock, [this] { return texts_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::atomic<int> texts_ = 0;  // that it has in hand
  bool is_closed_ = false, closes_at_exit_ = false;
};

// A session that is a static of a program may have kernels compiled while the program ends, and the
// library's own statics must outlive that. They are made when it first compiles something, so what
// is registered behind that runs before they are destroyed. Compilers themselves stay, for threads
// that ask for one until the process is gone.
void close_at_exit(Compiler& compiler) {
  static std::array<std::atomic<Compiler*>, 2> known = {};
  static std::atomic<int> count = 0;
  const int number = count++;
  known.at(static_cast<std::size_t>(number)) = &compiler;
  ensure(std::atexit(number == 0 ? [] { known[0].load()->close(); }
                                 : [] { known[1].load()->close(); }) == 0,
         "too much is to be done at the end");
}

Compiler& first_compiler() {
  static Compiler& compiler = *new Compiler(ANTICHAIN_NVRTC_FILE);
  return compiler;
}

// The same library once more, where the toolkit has it under another name; otherwise null. Within
// one of them a single thread at a time reads sources, a third of its work, so that four threads
// keep it busy.
Compiler* second_compiler() {
  static Compiler* const compiler = []() -> Compiler* {
    std::string file = ANTICHAIN_NVRTC_FILE;
    try {
      auto other = std::make_unique<Compiler>(file.insert(file.find(".so"), ".alt"));
      return other->nvrtc.version() == first_compiler().nvrtc.version() ? other.release() : nullptr;
    } catch (const DeviceError&) {
      return nullptr;
    }
  }();
  return compiler;
}

Compiler& idlest_compiler() {
  Compiler& first = first_compiler();
  if (first.texts() == 0) {
    return first;
  }
  Compiler* const second = second_compiler();
  return second != nullptr && second->texts() < first.texts() ? *second : first;
}

// The compiler that has least to do, for as long as it is held.
class Held {
 public:
  Held() : compiler_(idlest_compiler()) { compiler_.take(); }
  ~Held() { compiler_.give_back(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const Nvrtc& nvrtc() const { return compiler_.nvrtc; }

 private:
  Compiler& compiler_;
};

// Destroys a program also when an exception passes.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    std::vector<const char*> names, texts;
    for (const DeviceSource& source : device_sources()) {
      names.push_back(source.name);
      texts.push_back(source.text);
    }
    nvrtc_.check(
        nvrtc_.nvrtcCreateProgram(&program_, text.c_str(), "kernel.cu",
                                  static_cast<int>(names.size()), texts.data(), names.data()),
        "taking a kernel");
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string messages() const {
    std::size_t size = 0;
    nvrtc_.check(nvrtc_.nvrtcGetProgramLogSize(program_, &size), "reporting");
    std::string text(size, '\0');
    nvrtc_.check(nvrtc_.nvrtcGetProgramLog(program_, text.data()), "reporting");
    return text;
  }

 private:
  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

std::vector<std::string> options_for(int architecture) {
  // Bits must not depend on which multiplications and additions meet: kernels say fma themselves.
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}", architecture),
                                      "--std=c++20", "--fmad=false",
                                      "--device-as-default-execution-space"};
  // Leaves out declarations of textures and of the runtime, which take time to read.
  if (first_compiler().nvrtc.version() >= std::pair(12, 4)) {
    options.push_back("--minimal");
  }
  return options;
}

}  // namespace

std::string describe_compiler(int architecture) {
  const auto [major, minor] = first_compiler().nvrtc.version();
  return fmt::format("nvrtc {}.{} {}", major, minor, fmt::join(options_for(architecture), " "));
}

std::string compile_kernel(const std::string& text, int architecture) {
  const Held held;
  const Nvrtc& nvrtc = held.nvrtc();
  const Program program(nvrtc, text);
  const std::vector<std::string> options = options_for(architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) {
    texts.push_back(option.c_str());
  }
  const nvrtcResult status =
      nvrtc.nvrtcCompileProgram(program.get(), static_cast<int>(texts.size()), texts.data());
  ensure(status == NVRTC_SUCCESS, "a kernel does not compile: {}\n{}\n{}",
         nvrtc.nvrtcGetErrorString(status), program.messages(), text);
  std::size_t size = 0;
  nvrtc.check(nvrtc.nvrtcGetCUBINSize(program.get(), &size), "giving code");
  std::string code(size, '\0');
  nvrtc.check(nvrtc.nvrtcGetCUBIN(program.get(), code.data()), "giving code");
  return code;
}

}  // namespace antichain::cuda
