#include "antichain/backends/cuda/core/code_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <future>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/device_sources.h"
#include "antichain/backends/cuda/core/dynamic_library.h"
#include "antichain/base/background_tasks.h"
#include "antichain/base/code_cache.h"
#include "antichain/base/error.h"
#include "antichain/base/sha256.h"
#include "antichain/base/usable_cores.h"

namespace antichain::cuda {

namespace {

struct Nvrtc {
  DynamicLibrary library{ANTICHAIN_NVRTC_FILE};
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCompileProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCreateProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcDestroyProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBIN);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBINSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetErrorString);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLog);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLogSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcVersion);
};

const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

void check_compiler(nvrtcResult status, const char* doing) {
  ensure(status == NVRTC_SUCCESS, "NVRTC failed while {}: {}", doing,
         nvrtc().nvrtcGetErrorString(status));
}

// Destroys a program also when an exception passes.
class Program {
 public:
  explicit Program(const std::string& text) {
    std::vector<const char*> names, texts;
    for (const DeviceSource& source : device_sources()) {
      names.push_back(source.name);
      texts.push_back(source.text);
    }
    check_compiler(
        nvrtc().nvrtcCreateProgram(&program_, text.c_str(), "kernel.cu",
                                   static_cast<int>(names.size()), texts.data(), names.data()),
        "taking a kernel");
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string messages() const {
    std::size_t size = 0;
    check_compiler(nvrtc().nvrtcGetProgramLogSize(program_, &size), "reporting");
    std::string text(size, '\0');
    check_compiler(nvrtc().nvrtcGetProgramLog(program_, text.data()), "reporting");
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

std::vector<std::string> options_for(int architecture) {
  // Bits must not depend on which multiplications and additions meet: kernels say fma themselves.
  return {fmt::format("--gpu-architecture=sm_{}", architecture), "--std=c++20", "--fmad=false",
          "--device-as-default-execution-space"};
}

// Everything that the code depends on.
std::string key_of(const std::string& text, int architecture) {
  int major = 0, minor = 0;
  check_compiler(nvrtc().nvrtcVersion(&major, &minor), "telling its version");
  Sha256 digest;
  const auto add = [&digest](std::string_view part) { digest.add(std::as_bytes(std::span(part))); };
  add(fmt::format("nvrtc {}.{} {}\n", major, minor, fmt::join(options_for(architecture), " ")));
  for (const DeviceSource& source : device_sources()) {
    add(fmt::format("{}\n{}\n", source.name, source.text));
  }
  add(text);
  return digest.finish();
}

}  // namespace

std::string compile_kernel(const std::string& text, int architecture) {
  const Program program(text);
  const std::vector<std::string> options = options_for(architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) {
    texts.push_back(option.c_str());
  }
  const nvrtcResult status =
      nvrtc().nvrtcCompileProgram(program.get(), static_cast<int>(texts.size()), texts.data());
  ensure(status == NVRTC_SUCCESS, "a kernel does not compile: {}\n{}\n{}",
         nvrtc().nvrtcGetErrorString(status), program.messages(), text);
  std::size_t size = 0;
  check_compiler(nvrtc().nvrtcGetCUBINSize(program.get(), &size), "giving code");
  std::string code(size, '\0');
  check_compiler(nvrtc().nvrtcGetCUBIN(program.get(), code.data()), "giving code");
  return code;
}

class CodeLoader::Code {
 public:
  const std::string* text = nullptr;  // lies where the codes are kept
  std::shared_future<std::string> compiled;
  cudaLibrary_t library = nullptr;  // made of it when a function is asked for
};

struct CodeLoader::Impl {
  int architecture;
  CodeCache cache{default_code_folder()};
  std::mutex mutex;                             // of `codes` and what they hold
  std::unordered_map<std::string, Code> codes;  // by text
  BackgroundTasks tasks{usable_cores()};        // the last member: they use all others

  std::string machine_code(const std::string& text) {
    const std::string key = key_of(text, architecture);
    std::optional<std::string> code = cache.load(key);
    if (!code) {
      code = compile_kernel(text, architecture);
      cache.store(key, *code);
    }
    return *code;
  }

  // Loads what was compiled; what came from the disk and cannot be loaded is compiled anew.
  cudaLibrary_t library_of(const std::string& text, const std::string& compiled) {
    cudaLibrary_t library = nullptr;
    if (load(compiled, library) == cudaSuccess) {
      return library;
    }
    static_cast<void>(cudaGetLastError());
    const std::string key = key_of(text, architecture);
    cache.remove(key);
    const std::string again = compile_kernel(text, architecture);
    check(load(again, library), "loading a kernel");
    cache.store(key, again);
    return library;
  }

  static cudaError_t load(const std::string& code, cudaLibrary_t& library) {
    return cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
};

CodeLoader::CodeLoader(int architecture) : impl_(std::make_unique<Impl>()) {
  impl_->architecture = architecture;
}

CodeLoader::~CodeLoader() {
  for (const auto& [text, code] : impl_->codes) {
    if (code.library != nullptr) {
      static_cast<void>(cudaLibraryUnload(code.library));  // the GPU may be lost by now
    }
  }
}

CodeLoader::Code& CodeLoader::start(const std::string& text) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto place = impl_->codes.try_emplace(text).first;
  Code& code = place->second;
  if (!code.compiled.valid()) {
    code.text = &place->first;
    code.compiled =
        impl_->tasks.start([impl = impl_.get(), text] { return impl->machine_code(text); });
  }
  return code;
}

cudaKernel_t CodeLoader::load(Code& code, const std::string& name) {
  const std::string& compiled = code.compiled.get();
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (code.library == nullptr) {
    code.library = impl_->library_of(*code.text, compiled);
  }
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, code.library, name.c_str()), "loading a kernel");
  return kernel;
}

}  // namespace antichain::cuda
